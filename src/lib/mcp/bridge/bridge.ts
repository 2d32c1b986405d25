import type { Readable, Writable } from 'node:stream'
import { isJsonObject, type JsonObject } from '../../util/json.ts'
import type { Logger } from '../../util/logger.ts'
import type { Secret } from '../../util/secret.ts'
import { pause, systemTimer } from '../../util/time.ts'
import { isRequestId, jsonRpcCodes, type RequestId, type RpcError } from '../json-rpc.ts'
import { claimOf } from '../request-metadata.ts'
import { serverGone, stopping, Unreachable } from './bridge-errors.ts'
import { Call, type OpenRequest } from './call.ts'
import { ClientSession } from './client-session.ts'
import { Connection, type Upstream } from './connection.ts'
import { type Locate, postHeaders, shownUrl } from './context.ts'
import { HttpLink } from './http-link.ts'
import { ListenStream } from './listen-stream.ts'
import { statelessHeaders } from './own-request.ts'
import { Output } from './output.ts'
import { errorMessage, parseMessage, parseText, type RpcMessage, type RpcRequest } from './rpc.ts'

export interface BridgeParts {
  readonly input: Readable
  readonly output: Writable
  /** Finds the endpoint. */
  readonly locate: Locate
  /** Sent as Bearer to that endpoint. */
  readonly key: Secret | null
  /** Holds the proxy variables. */
  readonly env: NodeJS.ProcessEnv
  /** For open requests after the end of the input. Default: 10 s. */
  readonly finishMs?: number
  readonly log: Logger
}

const listenMethod = 'subscriptions/listen'
/** For open requests after a stop signal. */
const stopMs = 1500
/** For the client to read the rest. */
const flushMs = 500
/** Messages being forwarded, above which the bridge reads no further. */
const maxInFlight = 256

/**
 * Forwards messages between a client on stdio and an MCP endpoint on HTTP. Resolves when the client
 * closed stdin or stdout, or soon after `stop` is aborted.
 */
export async function runBridge(parts: BridgeParts, stop: AbortSignal): Promise<void> {
  const { input, finishMs = 10_000 } = parts
  const bridge = new Bridge(parts)
  const stopReading = (): void => {
    bridge.stopReading()
    input.destroy()
  }
  if (stop.aborted) stopReading()
  stop.addEventListener('abort', stopReading)
  void bridge.closed.then(stopReading)
  try {
    for await (const line of linesOf(input)) await bridge.take(line)
  } catch {
    // The bridge destroyed the input, or it broke.
  }
  stop.removeEventListener('abort', stopReading)
  await bridge.end(finishMs, stop)
}

/** The lines of a text in UTF-8, without a byte order mark before the first one. */
async function* linesOf(input: Readable): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of input) {
    const text = decoder.decode(chunk as Buffer, { stream: true })
    rest += text
    if (!text.includes('\n')) continue
    const lines = rest.split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
  if (rest !== '') yield rest
}

/** Routes the messages of one client. */
class Bridge {
  readonly #log: Logger
  readonly #link: HttpLink
  readonly #connection: Connection
  readonly #output: Output
  #session: ClientSession | null = null
  /** Later messages wait for this: `initialize` and `initialized` keep their order. */
  #beginning: Promise<void> = Promise.resolve()
  readonly #listens = new Set<ListenStream>()
  readonly #open = new Map<RequestId, OpenRequest>()
  /** Messages being forwarded, and open streams. */
  readonly #inFlight = new Set<Promise<void>>()
  /** Pending while too many messages are being forwarded. */
  #room: PromiseWithResolvers<void> | null = null
  #isEnding = false
  /** The last request was one of 2026-07-28. */
  #isStateless = false

  constructor({ output, locate, key, env, log }: BridgeParts) {
    let pid: number | undefined
    this.#log = log
    this.#output = new Output(output)
    this.#link = new HttpLink({
      key,
      env,
      overdue: url =>
        log.warn({ url: shownUrl(url), pid }, 'the server has not answered for 5 seconds'),
    })
    const located: Locate = async () => {
      const place = await locate()
      if (place.ok) pid = place.value.pid
      return place
    }
    this.#connection = new Connection(
      { link: this.#link, locate: located, log },
      {
        isEmpty: () => this.#session?.isOpen !== true && this.#listens.size === 0,
        restore: async upstream => this.#session?.restore(upstream),
        openStreams: upstream => this.#openStreams(upstream),
      },
    )
  }

  /** Resolves when the client has closed the output. */
  get closed(): Promise<void> {
    return this.#output.closed
  }

  /** Handles one line. Resolves when the next one may be read (backpressure). */
  async take(line: string): Promise<void> {
    if (line.trim() === '' || this.#isEnding) return
    const work: Promise<void> = this.#dispatch(line).finally(() => {
      this.#inFlight.delete(work)
      this.#room?.resolve()
    })
    this.#inFlight.add(work)
    if (this.#inFlight.size - this.#listens.size < maxInFlight) return
    this.#room = Promise.withResolvers()
    await this.#room.promise
  }

  /** Ignores further lines. */
  stopReading(): void {
    this.#isEnding = true
    this.#room?.resolve()
  }

  /** Waits for missing answers, then ends the session and flushes the output. */
  async end(finishMs: number, stop: AbortSignal): Promise<void> {
    // Listen requests never end by themselves.
    for (const { request, cancelled } of this.#open.values()) {
      if (request.method === listenMethod) cancelled.abort()
    }
    const late = new AbortController()
    const stopped = (): unknown => systemTimer.after(stopMs, () => late.abort())
    if (stop.aborted) stopped()
    stop.addEventListener('abort', stopped)
    const finished = Promise.all(this.#inFlight)
    await Promise.race([finished, this.closed, pause(systemTimer, finishMs, late.signal)])
    stop.removeEventListener('abort', stopped)
    for (const { request, cancelled } of this.#open.values()) {
      if (!cancelled.signal.aborted) void this.#refuse(request.id, stopping())
      cancelled.abort()
    }
    await Promise.all([this.#session?.end(), this.#output.end(flushMs)])
    this.#connection.stop()
    this.#link.close()
  }

  async #dispatch(line: string): Promise<void> {
    const value = parseText(line)
    if (value === undefined) {
      const message = 'the line is not valid JSON: one message a line, in UTF-8'
      return this.#refuse(null, { code: jsonRpcCodes.parseError, message })
    }
    const isBatch = Array.isArray(value)
    const messages = (isBatch ? value : [value]).map(parseMessage)
    // The server judges the elements of a batch.
    const message = isBatch ? null : messages[0]
    if (messages.length === 0 || (!isBatch && !message)) {
      const id = isJsonObject(value) && isRequestId(value.id) ? value.id : null
      return this.#refuse(id, invalidRequest('the line is not a JSON-RPC 2.0 message'))
    }
    const open: OpenRequest[] = messages
      .filter(one => one?.kind === 'request')
      .map(request => ({ request, cancelled: new AbortController() }))
    for (const { request } of open) {
      if (!this.#open.has(request.id)) continue
      // An error with this id would look like the answer to the other request.
      const id = JSON.stringify(request.id)
      return this.#refuse(null, invalidRequest(`a request with the id ${id} is already open`))
    }
    for (const one of open) this.#open.set(one.request.id, one)
    try {
      await this.#route(line, message ?? null, open)
    } catch (error) {
      this.#log.error({ err: error }, 'cannot forward a message')
      const failed = { code: jsonRpcCodes.internalError, message: 'the bridge failed' }
      for (const { request } of open) await this.#refuse(request.id, failed)
    } finally {
      for (const one of open) this.#close(one)
    }
  }

  /** `message` is null for a batch. */
  async #route(line: string, message: RpcMessage | null, open: OpenRequest[]): Promise<void> {
    if (message?.kind === 'request') {
      const { method, params } = message
      this.#isStateless = claimOf(params) !== null
      if (this.#isStateless && method === listenMethod) return this.#listen(line, message, open)
      if (this.#isStateless) return this.#forwardStateless(line, message, open)
      if (method === 'initialize') return this.#begin(() => this.#initialize(line, message, open))
    }
    if (message?.kind === 'notification') {
      if (message.method === 'notifications/initialized') {
        return this.#begin(() => this.#initialized(line))
      }
      if (message.method === 'notifications/cancelled' && this.#isSettled(message.params)) return
    }
    await this.#beginning
    await this.#forward(line, open)
  }

  /** Cancels the request. Returns whether the server need not be notified. */
  #isSettled({ requestId }: JsonObject): boolean {
    const open = isRequestId(requestId) ? this.#open.get(requestId) : undefined
    if (open === undefined) return true
    open.cancelled.abort()
    this.#close(open)
    // In 2026-07-28 closing the HTTP request cancels it.
    return claimOf(open.request.params) !== null
  }

  #begin(work: () => Promise<void>): Promise<void> {
    const done = this.#beginning.then(work)
    this.#beginning = done.catch(() => {})
    return done
  }

  async #initialize(line: string, { params }: RpcRequest, open: OpenRequest[]): Promise<void> {
    // A new `initialize` replaces the previous session.
    void this.#session?.end()
    this.#session = new ClientSession({
      connection: this.#connection,
      output: this.#output,
      log: this.#log,
      params,
    })
    await this.#forward(line, open)
  }

  async #initialized(line: string): Promise<void> {
    this.#session?.initialized()
    await this.#forward(line, [])
    const upstream = await this.#connection.ready().catch(() => null)
    if (upstream !== null) await this.#session?.openStream(upstream)
  }

  /** Forwards a message in the session, and once again when the session has ended. */
  async #forward(line: string, open: OpenRequest[]): Promise<void> {
    const call = this.#call(line, open)
    for (let isFirst = true; ; isFirst = false) {
      const upstream = await this.#reach(call)
      if (upstream === null) return
      const session = this.#session
      const ended = await call.run(upstream, session?.headers ?? postHeaders, {
        answered: (request, response, headers) =>
          session?.answered(request, response, headers, upstream),
      })
      const isUnknown = ended.kind === 'refused' && ended.status === 404
      if (!isUnknown || !isFirst || session?.endedByServer(upstream) !== true) {
        return call.settle(ended, upstream)
      }
    }
  }

  async #forwardStateless(
    line: string,
    { method, params }: RpcRequest,
    open: OpenRequest[],
  ): Promise<void> {
    const call = this.#call(line, open)
    const upstream = await this.#reach(call)
    if (upstream === null) return
    const headers = { ...postHeaders, ...statelessHeaders(method, params) }
    await call.settle(await call.run(upstream, headers), upstream)
  }

  /** Resolves when the client has its answer, which ends the subscription. */
  async #listen(line: string, request: RpcRequest, open: OpenRequest[]): Promise<void> {
    const call = this.#call(line, open)
    const upstream = await this.#reach(call)
    if (upstream === null) return
    const { signal: cancelled } = call
    const parts = { connection: this.#connection, output: this.#output, cancelled }
    const stream = new ListenStream({ ...parts, request, line })
    this.#listens.add(stream)
    await stream.open(upstream)
    await stream.done
    this.#listens.delete(stream)
  }

  async #openStreams(upstream: Upstream): Promise<boolean> {
    const opened = await Promise.all([
      this.#session?.openStream(upstream),
      ...[...this.#listens].map(stream => stream.open(upstream)),
    ])
    return !opened.includes(false)
  }

  #call(line: string, requests: OpenRequest[]): Call {
    const parts = { connection: this.#connection, output: this.#output, log: this.#log }
    return new Call({ ...parts, line, requests })
  }

  /** The server for the call. Null when the client has an error instead, or has cancelled it. */
  async #reach(call: Call): Promise<Upstream | null> {
    try {
      const upstream = await this.#connection.ready()
      return call.signal.aborted ? null : upstream
    } catch (error) {
      if (!(error instanceof Unreachable)) throw error
      await call.refuse(serverGone(error.message))
      return null
    }
  }

  #close(open: OpenRequest): void {
    const { id } = open.request
    if (this.#open.get(id) === open) this.#open.delete(id)
  }

  #refuse(id: RequestId | null, error: RpcError): Promise<void> {
    const known = id === null && this.#isStateless ? undefined : id
    return this.#output.send(errorMessage(known, error))
  }
}

function invalidRequest(message: string): RpcError {
  return { code: jsonRpcCodes.invalidRequest, message }
}
