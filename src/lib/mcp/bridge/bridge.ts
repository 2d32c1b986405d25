import { addAbortSignal, type Readable, type Writable } from 'node:stream'
import { isJsonObject, type JsonObject } from '../../util/json.ts'
import type { Logger } from '../../util/logger.ts'
import type { Secret } from '../../util/secret.ts'
import { pause, systemTimer } from '../../util/time.ts'
import { isRequestId, jsonRpcCodes, type RequestId, type RpcError } from '../json-rpc.ts'
import { bridgeFailed, serverGone, stopping, Unreachable } from './bridge-errors.ts'
import { Call } from './call.ts'
import { Connection, type Upstream } from './connection.ts'
import { type Locate, postHeaders } from './context.ts'
import { ListenStream } from './listen-stream.ts'
import { Output } from './output.ts'
import { errorMessage, parseMessage, parseText, type RpcRequest } from './rpc.ts'
import { ClientSession } from './session.ts'

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
/** For the client to read the rest. */
const flushMs = 500
/** Messages being forwarded, above which the bridge reads no further. */
const maxInFlight = 256

/**
 * Forwards messages between a client on stdio and an MCP endpoint on HTTP. Resolves when the client
 * closed stdin or stdout, or soon after `stop` is aborted.
 */
export async function runBridge(parts: BridgeParts, stop: AbortSignal): Promise<void> {
  const output = new Output(parts.output)
  const ending = AbortSignal.any([stop, output.closed])
  const bridge = new Bridge(parts, output)
  ending.addEventListener('abort', () => bridge.stopReading())
  try {
    for await (const line of linesOf(addAbortSignal(ending, parts.input))) {
      if (ending.aborted) break
      await bridge.take(line)
    }
  } catch {
    // The bridge ends, or the input broke.
  }
  await bridge.end(parts.finishMs ?? 10_000, ending)
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
  readonly #output: Output
  readonly #connection: Connection
  #session: ClientSession | null = null
  /** Later messages wait for this: `initialize` and `initialized` keep their order. */
  #beginning: Promise<void> = Promise.resolve()
  /** Calls by the ids of their requests. */
  readonly #open = new Map<RequestId, Call>()
  readonly #inFlight = new Set<Promise<void>>()
  /** Subscriptions among them, which last. */
  #listening = 0
  /** Pending while too many messages are being forwarded. */
  #room = Promise.withResolvers<void>()

  constructor({ locate, key, env, log }: BridgeParts, output: Output) {
    this.#log = log
    this.#output = output
    this.#connection = new Connection({ locate, key, env, log })
  }

  /** Handles one line. Resolves when the next one may be read (backpressure). */
  async take(line: string): Promise<void> {
    if (line.trim() === '') return
    const work: Promise<void> = this.#dispatch(line).finally(() => {
      this.#inFlight.delete(work)
      this.#room.resolve()
    })
    this.#inFlight.add(work)
    if (this.#inFlight.size - this.#listening < maxInFlight) return
    this.#room = Promise.withResolvers()
    await this.#room.promise
  }

  stopReading(): void {
    this.#room.resolve()
  }

  /** Waits for missing answers, ends the session and flushes the output. */
  async end(finishMs: number, ending: AbortSignal): Promise<void> {
    // Subscriptions never end by themselves.
    for (const [id, { message }] of this.#open) {
      if (message?.kind === 'request' && message.method === listenMethod) this.#cancel(id)
    }
    const finished = new AbortController()
    void Promise.all(this.#inFlight).then(() => finished.abort())
    await pause(systemTimer, finishMs, AbortSignal.any([ending, finished.signal]))
    for (const call of new Set(this.#open.values())) void call.refuse(stopping)
    await Promise.all([this.#session?.end(), this.#output.flush(flushMs)])
    this.#connection.stop()
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
    if (messages.length === 0 || (!isBatch && messages[0] === null)) {
      const id = isJsonObject(value) && isRequestId(value.id) ? value.id : null
      const message = 'the line is not a JSON-RPC 2.0 message'
      return this.#refuse(id, { code: jsonRpcCodes.invalidRequest, message })
    }
    const parts = { connection: this.#connection, output: this.#output, log: this.#log }
    const call = new Call(parts, line, messages, isBatch)
    const ids = call.unanswered.map(({ id }) => id)
    for (const id of ids) this.#open.set(id, call)
    try {
      await this.#route(call)
    } catch (error) {
      this.#log.error({ err: error }, 'cannot forward a message')
      await call.refuse(bridgeFailed)
    } finally {
      for (const id of ids) this.#close(id, call)
    }
  }

  async #route(call: Call): Promise<void> {
    const { message } = call
    if (message?.kind === 'request') {
      if (call.statelessHeaders !== null) {
        return message.method === listenMethod ? this.#listen(call, message) : this.#forward(call)
      }
      if (message.method === 'initialize') {
        return this.#begin(() => this.#initialize(call, message.params))
      }
    }
    if (message?.kind === 'notification') {
      const { method, params } = message
      if (method === 'notifications/initialized') return this.#begin(() => this.#initialized(call))
      if (method === 'notifications/cancelled' && !this.#cancel(params.requestId)) return
    }
    await this.#beginning
    await this.#forward(call)
  }

  /** Cancels a request. Returns whether the server must be notified. */
  #cancel(id: unknown): boolean {
    const call = isRequestId(id) ? this.#open.get(id) : undefined
    if (!isRequestId(id) || call === undefined) return false
    call.cancel(id)
    this.#close(id, call)
    // In 2026-07-28 closing the HTTP request cancels it.
    return call.statelessHeaders === null
  }

  #begin(work: () => Promise<void>): Promise<void> {
    const done = this.#beginning.then(work)
    this.#beginning = done.catch(() => {})
    return done
  }

  async #initialize(call: Call, params: JsonObject): Promise<void> {
    // A new `initialize` replaces the previous session.
    void this.#session?.end()
    const parts = { connection: this.#connection, output: this.#output, log: this.#log }
    this.#session = new ClientSession(parts, params)
    await this.#forward(call)
  }

  async #initialized(call: Call): Promise<void> {
    this.#session?.initialized()
    await this.#forward(call)
    const upstream = await this.#connection.ready().catch(() => null)
    if (upstream !== null) await this.#session?.openStream(upstream)
  }

  /** Forwards a call, in a session once again when the server has ended it. */
  async #forward(call: Call): Promise<void> {
    const { statelessHeaders } = call
    for (let isFirst = true; ; isFirst = false) {
      const upstream = await this.#reach(call)
      if (upstream === null) return
      const session = statelessHeaders === null ? this.#session : null
      const headers = statelessHeaders ?? session?.headers ?? postHeaders
      const ended = await call.send(upstream, headers, (request, response, received) =>
        session?.answered(request, response, received, upstream),
      )
      const isUnknown = ended.kind === 'refused' && ended.status === 404
      const mayRepeat = isUnknown && isFirst && session?.endedByServer(upstream) === true
      if (!mayRepeat) return call.settle(ended, upstream)
    }
  }

  /** Resolves when the client has its answer, which ends the subscription. */
  async #listen(call: Call, request: RpcRequest): Promise<void> {
    const upstream = await this.#reach(call)
    if (upstream === null) return
    const parts = { connection: this.#connection, output: this.#output }
    const stream = new ListenStream({ ...parts, request, call })
    this.#connection.restorables.add(stream)
    this.#listening++
    void stream.openStream(upstream)
    await stream.done
    this.#listening--
    this.#connection.restorables.delete(stream)
  }

  /** The server for the call. Null when the client has an error instead, or has cancelled it. */
  async #reach(call: Call): Promise<Upstream | null> {
    try {
      const upstream = await this.#connection.ready()
      return call.cancelled.aborted ? null : upstream
    } catch (error) {
      if (!(error instanceof Unreachable)) throw error
      await call.refuse(serverGone(error.message))
      return null
    }
  }

  #close(id: RequestId, call: Call): void {
    if (this.#open.get(id) === call) this.#open.delete(id)
  }

  #refuse(id: RequestId | null, error: RpcError): Promise<void> {
    return this.#output.send(errorMessage(id, error))
  }
}
