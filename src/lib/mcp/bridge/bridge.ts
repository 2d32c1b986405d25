import { addAbortSignal, type Readable, type Writable } from 'node:stream'
import { pause, systemTimer } from '../../util/time.ts'
import { isRequestId, jsonRpcCodes, type RequestId } from '../json-rpc.ts'
import { serverGone, Unreachable } from './bridge-errors.ts'
import { ClientCall } from './call.ts'
import { Connection, type ConnectionParts } from './connection.ts'
import { type BridgeContext, Output } from './context.ts'
import { listen } from './listen.ts'
import { messageText, parseRpcMessage, parseText, type RpcRequest } from './rpc.ts'
import { ClientSession } from './session.ts'

export interface BridgeParts extends ConnectionParts {
  readonly input: Readable
  readonly output: Writable
}

const listenMethod = 'subscriptions/listen'
/** For open requests after the end of the input. */
const finishMs = 10_000
/** For the client to read the rest. */
const flushMs = 500

/**
 * Forwards messages between a client on stdio and an MCP endpoint on HTTP. Resolves when the client
 * closed stdin or stdout, or soon after `stop` is aborted.
 */
export async function runBridge(parts: BridgeParts, stop: AbortSignal): Promise<void> {
  const output = new Output(parts.output)
  const bridge = new Bridge({ connection: new Connection(parts), output, log: parts.log })
  const ending = AbortSignal.any([stop, output.closed])
  try {
    for await (const line of linesOf(addAbortSignal(ending, parts.input))) bridge.take(line)
  } catch {
    // The bridge ends, or the input broke.
  }
  await bridge.end(ending)
}

/** The lines of a text in UTF-8, without a byte order mark before the first one. */
async function* linesOf(input: Readable): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of input) {
    const lines = (rest + decoder.decode(chunk as Buffer, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
  yield rest
}

/** Routes the messages of one client. */
class Bridge {
  readonly #context: BridgeContext
  #session: ClientSession | null = null
  /** Later messages wait for this: `initialize` and `initialized` keep their order. */
  #beginning: Promise<void> = Promise.resolve()
  /** Calls by the ids of their requests. */
  readonly #open = new Map<RequestId, ClientCall>()
  readonly #inFlight = new Set<Promise<void>>()

  constructor(context: BridgeContext) {
    this.#context = context
  }

  /** Handles one line. */
  take(line: string): void {
    if (line.trim() === '') return
    const work: Promise<void> = this.#dispatch(line).finally(() => this.#inFlight.delete(work))
    this.#inFlight.add(work)
  }

  /** Waits for missing answers, ends the session and flushes the output. */
  async end(ending: AbortSignal): Promise<void> {
    const { connection, output } = this.#context
    // Subscriptions never end by themselves.
    for (const [id, { message }] of this.#open) {
      if (message?.kind === 'request' && message.method === listenMethod) this.#cancel(id)
    }
    const finished = new AbortController()
    void Promise.all(this.#inFlight).then(() => finished.abort())
    await pause(systemTimer, finishMs, AbortSignal.any([ending, finished.signal]))
    await this.#session?.end()
    connection.stop()
    await output.flush(flushMs)
  }

  async #dispatch(line: string): Promise<void> {
    const { output, log } = this.#context
    const value = parseText(line)
    const isBatch = Array.isArray(value)
    const messages = (isBatch ? value : [value]).map(parseRpcMessage)
    // The server judges the elements of a batch.
    if (messages.length === 0 || (!isBatch && messages[0] === null)) {
      const { parseError, invalidRequest } = jsonRpcCodes
      const code = value === undefined ? parseError : invalidRequest
      const message = 'the line is not a JSON-RPC 2.0 message'
      return output.send(messageText({ id: null, error: { code, message } }))
    }
    const call = new ClientCall(this.#context, line, messages, isBatch)
    const ids = call.unanswered.map(({ id }) => id)
    for (const id of ids) this.#open.set(id, call)
    try {
      await this.#route(call)
    } catch (error) {
      const isAway = error instanceof Unreachable
      if (!isAway) log.error({ err: error }, 'cannot forward a message')
      const failed = { code: jsonRpcCodes.internalError, message: 'the bridge failed' }
      await call.refuse(isAway ? serverGone(error.message) : failed)
    } finally {
      for (const id of ids) this.#close(id, call)
    }
  }

  async #route(call: ClientCall): Promise<void> {
    const { message } = call
    if (message?.kind === 'request') {
      if (call.statelessHeaders !== null) {
        const isListen = message.method === listenMethod
        return isListen ? listen(this.#context, call, message) : this.#forward(call)
      }
      if (message.method === 'initialize') return this.#begin(() => this.#initialize(call, message))
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

  #close(id: RequestId, call: ClientCall): void {
    if (this.#open.get(id) === call) this.#open.delete(id)
  }

  #begin(work: () => Promise<void>): Promise<void> {
    const done = this.#beginning.then(work)
    this.#beginning = done.catch(() => {})
    return done
  }

  async #initialize(call: ClientCall, { params }: RpcRequest): Promise<void> {
    // A new `initialize` replaces the previous session.
    void this.#session?.end()
    this.#session = new ClientSession(this.#context, params)
    await this.#forward(call)
  }

  async #initialized(call: ClientCall): Promise<void> {
    const session = this.#session
    await this.#forward(call).finally(() => session?.initialized())
  }

  /** Forwards a call, in a session once again when the server has ended it. */
  async #forward(call: ClientCall, mayRepeat = true): Promise<void> {
    const upstream = await this.#context.connection.ready()
    const session = call.statelessHeaders === null ? this.#session : null
    await session?.restore(upstream)
    const ended = await call.send(upstream, session)
    const isUnknown = ended.kind === 'refused' && ended.status === 404
    if (isUnknown && mayRepeat && session?.endedByServer(upstream) === true) {
      return this.#forward(call, false)
    }
    return call.refuse(this.#context.connection.errorOf(ended, upstream))
  }
}
