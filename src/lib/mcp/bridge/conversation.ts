import { isRequestId, jsonRpcCodes, type RequestId, type RpcError } from '../json-rpc.ts'
import {
  type ClientBatch,
  type ClientMessage,
  type ClientNotification,
  type ClientRequest,
  parseClientLine,
} from './client-message.ts'
import { type BridgeContext, type Locate, postHeaders, type Target } from './context.ts'
import type { Line } from './line-splitter.ts'
import { type OpenRequest, OpenRequests } from './open-requests.ts'
import { Recovery, type Restorable } from './recovery.ts'
import { isStateless, statelessHeaders } from './own-request.ts'
import { errorMessage } from './rpc.ts'
import { SessionTransport } from './session-transport.ts'
import { serverGone, stopping, tooManyRequests } from './bridge-errors.ts'
import { ok, type Result } from '../../util/result.ts'
import { Call } from './call.ts'
import { ListenStream } from './listen-stream.ts'

/** Routes the messages of one client to the transport that each uses. */
export class Conversation {
  readonly #context: BridgeContext
  readonly #recovery: Recovery
  readonly #sessions: SessionTransport
  readonly #stateless: StatelessTransport
  readonly #open = new OpenRequests()
  /** Open requests of a session: the server is notified when they are cancelled. */
  readonly #inSession = new WeakSet<OpenRequest>()
  readonly #listens = new Set<OpenRequest>()
  /** All messages being forwarded, notifications included. */
  readonly #works = new Set<Promise<void>>()
  /** Those of `#works` that expect no answer. */
  readonly #quiet = new Set<Promise<void>>()
  /** The last request was one of 2026-07-28. */
  #isStateless = false

  constructor(context: BridgeContext, locate: Locate) {
    const { timer, random, log } = context
    this.#context = context
    this.#recovery = new Recovery({ locate, timer, random, log })
    this.#sessions = new SessionTransport(context, this.#recovery)
    this.#stateless = new StatelessTransport(context, this.#recovery)
    this.#recovery.restores([this.#sessions, this.#stateless])
  }

  /**
   * Handles one line. Returns what to wait for before reading the next line (backpressure), or
   * null.
   */
  take(line: Line): Promise<void> | null {
    const { output, limits } = this.#context
    if (line.kind === 'oversize') {
      const message = `the line is longer than ${limits.maxLineBytes} bytes`
      void this.#refuse(null, { code: jsonRpcCodes.invalidRequest, message })
    } else if (!isBlank(line.bytes)) {
      const parsed = parseClientLine(line.bytes)
      if (parsed.ok) this.#lead(parsed.value)
      else void this.#refuse(parsed.failure.id, parsed.failure.error)
    }
    if (output.waiting > limits.maxWaitingMessages) return output.settled()
    return this.#quiet.size >= limits.maxRequests ? Promise.race(this.#quiet) : null
  }

  /** Another server took over: restores sessions and streams there. */
  moved(): void {
    this.#recovery.lost('another server replaces it', this.#recovery.generation)
  }

  /** Waits for missing answers up to a limit, then ends the session and flushes the output. */
  async end(stop: AbortSignal): Promise<void> {
    const { timer, limits, output } = this.#context
    // Listen requests never end by themselves.
    for (const listen of this.#listens) this.#open.cancel(listen.id)
    await new Promise<void>(resolve => {
      const cancels = [timer.after(limits.finishMs, resolve)]
      const stopped = (): void => void cancels.push(timer.after(limits.stopMs, resolve))
      if (stop.aborted) stopped()
      stop.addEventListener('abort', stopped)
      void Promise.race([Promise.all(this.#works), output.closed]).then(() => {
        for (const cancel of cancels) cancel()
        stop.removeEventListener('abort', stopped)
        resolve()
      })
    })
    this.#recovery.stop()
    for (const { id } of this.#open.all()) {
      void this.#refuse(id, stopping())
      this.#open.cancel(id)
    }
    await Promise.all([this.#sessions.end(), output.end(timer, limits.farewellMs)])
  }

  #lead(message: ClientMessage): void {
    switch (message.kind) {
      case 'request':
        return this.#request(message)
      case 'notification':
        return this.#notification(message)
      case 'response':
        return this.#watch(this.#sessions.respond(message))
      case 'batch':
        return this.#batch(message)
    }
  }

  #request(request: ClientRequest): void {
    const stateless = isStateless(request.params)
    this.#isStateless = stateless
    const open = this.#admit(request.id)
    if (open === null) return
    if (!stateless) this.#inSession.add(open)
    else if (request.method === 'subscriptions/listen') this.#listens.add(open)
    const done = (stateless ? this.#stateless : this.#sessions).request(request, open)
    this.#watch(done, [open])
  }

  #batch(batch: ClientBatch): void {
    const ids = batch.requests.map(({ id }) => id)
    const { maxRequests } = this.#context.limits
    if (this.#open.size + ids.length > maxRequests) {
      for (const id of ids) void this.#refuse(id, tooManyRequests(maxRequests))
      return
    }
    const open = ids.map(id => this.#open.open(id)).filter(request => request !== null)
    if (open.length === ids.length) return this.#watch(this.#sessions.batch(batch, open), open)
    for (const request of open) this.#close(request)
    void this.#refuse(null, sameId('of the batch'))
  }

  #notification(notification: ClientNotification): void {
    const { method, params } = notification
    const { requestId } = params
    if (method !== 'notifications/cancelled' || !isRequestId(requestId)) {
      return this.#watch(this.#sessions.notify(notification))
    }
    const open = this.#open.find(requestId)
    if (open === null) return
    this.#open.cancel(requestId)
    // In 2026-07-28 closing the HTTP request cancels it.
    if (this.#inSession.has(open)) this.#watch(this.#sessions.notify(notification))
  }

  /** Returns null after refusing the request. */
  #admit(id: RequestId): OpenRequest | null {
    const { maxRequests } = this.#context.limits
    if (this.#open.size >= maxRequests) {
      void this.#refuse(id, tooManyRequests(maxRequests))
      return null
    }
    const open = this.#open.open(id)
    // An error with this id would look like the answer to the other request.
    if (open === null) void this.#refuse(null, sameId(JSON.stringify(id)))
    return open
  }

  #watch(work: Promise<unknown>, open: OpenRequest[] = []): void {
    const done = work
      .catch((error: unknown) => {
        this.#context.log.error({ err: error }, 'cannot forward a message')
        const failed = { code: jsonRpcCodes.internalError, message: 'the bridge failed' }
        return Promise.all(open.map(({ id }) => this.#refuse(id, failed)))
      })
      .then(() => {
        for (const request of open) this.#close(request)
        this.#works.delete(done)
        this.#quiet.delete(done)
      })
    this.#works.add(done)
    if (open.length === 0) this.#quiet.add(done)
  }

  #close(request: OpenRequest): void {
    this.#open.close(request)
    this.#listens.delete(request)
  }

  #refuse(id: RequestId | null, error: RpcError): Promise<void> {
    const known = id === null && this.#isStateless ? undefined : id
    return this.#context.output.send(errorMessage(known, error))
  }
}

function sameId(which: string): RpcError {
  const message = `a request with the id ${which} is already open`
  return { code: jsonRpcCodes.invalidRequest, message }
}

function isBlank(bytes: Buffer): boolean {
  return bytes.every(byte => byte === 0x20 || byte === 0x09 || byte === 0x0d)
}

/** Forwards requests of the stateless transport (2026-07-28). */
class StatelessTransport implements Restorable {
  readonly #context: BridgeContext
  readonly #recovery: Recovery
  readonly #streams = new Set<ListenStream>()

  constructor(context: BridgeContext, recovery: Recovery) {
    this.#context = context
    this.#recovery = recovery
  }

  async request(request: ClientRequest, open: OpenRequest): Promise<void> {
    const { bytes: body, method, params } = request
    const repeatable = method !== 'tools/call'
    const { signal } = open
    const call = new Call(this.#context, { body, requests: [open], repeatable, signal })
    const ready = await this.#recovery.ready()
    if (!open.wanted) return
    if (!ready.ok) return call.refuse(serverGone(ready.failure))
    if (method === 'subscriptions/listen') return this.#listen(request, open, ready.value)
    const { generation } = this.#recovery
    const headers = { ...postHeaders, ...statelessHeaders(method, params) }
    const end = await call.run(ready.value, headers)
    if (end.kind === 'broken' && !end.begun) this.#recovery.lost(end.reason, generation)
    else if (end.kind !== 'aborted') this.#recovery.reached(ready.value)
    await call.settle(end, ready.value)
  }

  needed(): boolean {
    return this.#streams.size > 0
  }

  interrupt(): void {
    for (const stream of this.#streams) stream.interrupt()
  }

  async restore(target: Target): Promise<Result<void, string>> {
    const lost = [...this.#streams].filter(stream => stream.isLost)
    const outcomes = await Promise.all(lost.map(stream => stream.start(target)))
    return outcomes.find(outcome => !outcome.ok) ?? ok(undefined)
  }

  /** Resolves when the client has the answer, which ends the subscription. */
  #listen(request: ClientRequest, open: OpenRequest, target: Target): Promise<void> {
    return new Promise(resolve => {
      const stream = new ListenStream({
        context: this.#context,
        request,
        open,
        lost: reason => this.#recovery.lost(reason, this.#recovery.generation),
        done: () => {
          this.#streams.delete(stream)
          resolve()
        },
      })
      this.#streams.add(stream)
      void stream.start(target)
    })
  }
}
