import { WebSocket } from 'ws'
import type { Clock, Timer } from '../util/time.ts'
import type { JsonObject } from '../util/json.ts'
import { fail, ok, type Result } from '../util/result.ts'
import type { Secret } from '../util/secret.ts'
import type { Ending } from './after-ending.ts'
import type { ClientLimits } from './host-client-options.ts'
import type { HostLinkErrorCode } from './errors.ts'
import { errorText, messageText, type RawMembers } from './message-text.ts'
import { type FromServer, parseServerMessage, type ServerReply } from './server-messages.ts'
import { watchSilence } from './status-watch.ts'
import {
  closeCodes,
  type LinkLimits,
  type ServerMessage,
  subprotocol,
  type Welcome,
} from './wire.ts'

export interface AskFailure {
  readonly code: HostLinkErrorCode
  readonly message: string
  readonly retryable: boolean
}

/** A message that the server sends on its own after the welcome. */
export type ServerWord = Exclude<ServerMessage, Welcome>

interface LinkOptions {
  /** `ws://…/host` */
  readonly url: string
  readonly token: Secret
  /** The text of the first message. */
  readonly hello: string
  readonly limits: ClientLimits
  readonly timer: Timer
  readonly clock: Clock
  readonly welcomed: (link: Link) => void
  readonly heard: (message: ServerWord, link: Link) => void
}

/** The protocol has no larger messages from the server. */
const maxPayload = 8 * 1024 * 1024
const lost: AskFailure = { code: 'disconnected', message: 'the link was lost', retryable: true }

/** One WebSocket connection. Its methods never throw or reject. */
export class Link {
  /** Always resolves. */
  readonly ended: Promise<Ending>
  readonly #options: LinkOptions
  readonly #socket: WebSocket
  readonly #over = new AbortController()
  readonly #pending = new Map<string, (reply: Result<JsonObject, AskFailure>) => void>()
  readonly #resolveEnded: (ending: Ending) => void
  #waiters: (() => void)[] = []
  #welcome: Welcome | null = null
  #asked = 0

  constructor(options: LinkOptions) {
    this.#options = options
    const { timer, clock, limits } = options
    const { openTimeoutMs, silenceMs } = limits
    const { promise, resolve } = Promise.withResolvers<Ending>()
    this.ended = promise
    this.#resolveEnded = resolve
    this.#socket = new WebSocket(options.url, subprotocol, {
      headers: { Authorization: `Bearer ${options.token.reveal()}` },
      handshakeTimeout: openTimeoutMs,
      perMessageDeflate: false,
      maxPayload,
    })
    const silent = () => this.cut('the server sends nothing any more')
    this.#listen(watchSilence({ timer, clock, silenceMs, signal: this.signal, silent }))
    const cancel = timer.after(openTimeoutMs, () => {
      if (this.#welcome === null) this.cut('the server did not answer in time')
    })
    this.signal.addEventListener('abort', cancel)
  }

  /** Aborted when the link has ended. */
  get signal(): AbortSignal {
    return this.#over.signal
  }

  /** The server has welcomed the client and the link has not ended. */
  get open(): boolean {
    return this.#welcome !== null && !this.signal.aborted
  }

  /** The server takes `scene.patch`. */
  get patches(): boolean {
    return this.#welcome?.scene_patch === true
  }

  /** Throws before the welcome. */
  get welcome(): Welcome {
    if (this.#welcome === null) throw new Error('the link is not open yet')
    return this.#welcome
  }

  get limits(): LinkLimits {
    return this.welcome.limits
  }

  /** True when the socket buffers little enough for another message. */
  get writable(): boolean {
    return this.#socket.bufferedAmount <= this.#options.limits.highWaterBytes
  }

  /** Schedules a function; returns one that cancels it. */
  later(delayMs: number, run: () => void): () => void {
    return this.#options.timer.after(delayMs, run)
  }

  /** Sends a text or binary frame; does nothing when the link has ended. */
  send(data: string | Uint8Array): void {
    if (this.signal.aborted || this.#socket.readyState !== WebSocket.OPEN) return
    this.#socket.send(data, () => this.#wake())
  }

  /** Sends a message with an id and waits for its answer. */
  ask(
    type: string,
    members: RawMembers,
    timeoutMs: number | null = this.#options.limits.answerTimeoutMs,
  ): Promise<Result<JsonObject, AskFailure>> {
    return this.askAs(this.nextId(), type, members, timeoutMs)
  }

  nextId(): string {
    return `c${++this.#asked}`
  }

  /** Like `ask`; with a null timeout it waits until the link ends. */
  askAs(
    id: string,
    type: string,
    members: RawMembers,
    timeoutMs: number | null,
  ): Promise<Result<JsonObject, AskFailure>> {
    if (!this.open) return Promise.resolve(fail(lost))
    const { promise, resolve } = Promise.withResolvers<Result<JsonObject, AskFailure>>()
    const settle = (reply: Result<JsonObject, AskFailure>) => {
      cancel()
      this.#pending.delete(id)
      resolve(reply)
    }
    const late = { code: 'timeout', message: `no answer to ${type}`, retryable: true } as const
    const cancel =
      timeoutMs === null ? () => {} : this.#options.timer.after(timeoutMs, () => settle(fail(late)))
    this.#pending.set(id, settle)
    this.send(messageText(type, { id: JSON.stringify(id), ...members }))
    return promise
  }

  /** Resolves when the link is writable, or has ended. */
  async drained(): Promise<void> {
    while (!this.signal.aborted && !this.writable) {
      await new Promise<void>(resolve => this.#waiters.push(resolve))
    }
  }

  /** Announces the end; the server closes the connection, or the client does after a grace time. */
  bye(reason: string, clear: boolean): void {
    const members = { reason: JSON.stringify(reason), clear: clear ? 'true' : undefined }
    this.send(messageText('bye', members))
    this.#cutLater('the client stopped')
  }

  /** Ends the link at once. */
  cut(text: string): void {
    this.#finish({ kind: 'lost', text })
    this.#socket.terminate()
  }

  #listen(heard: () => void): void {
    const socket = this.#socket
    socket.on('ping', heard)
    socket.on('pong', heard)
    socket.on('open', () => this.send(this.#options.hello))
    socket.on('message', (data, binary) => {
      heard()
      if (this.signal.aborted) return
      if (binary) this.#break('a binary frame')
      else this.#take(String(data))
    })
    socket.on('unexpected-response', (_request, response) => {
      this.#finish({ kind: 'http', status: response.statusCode ?? 0 })
      socket.terminate()
    })
    // An `error` without a listener would end the process; `close` follows it.
    socket.on('error', error => {
      if (socket.readyState !== WebSocket.OPEN) {
        this.#finish({ kind: 'lost', text: `the server cannot be reached (${error.message})` })
      }
    })
    socket.on('close', (code, reason) => {
      const gone: Ending = { kind: 'lost', text: 'the connection was lost' }
      // 1005: a close frame without a code. 1006: no close frame.
      const said: Ending = { kind: 'closed', code, reason: String(reason) }
      this.#finish(code === 1005 || code === 1006 ? gone : said)
    })
  }

  #take(frame: string): void {
    const parsed = parseServerMessage(frame)
    if (parsed.ok) {
      this.#handle(parsed.value)
      return
    }
    const { failure } = parsed
    if (failure.kind === 'broken') return this.#break(failure.message)
    if (failure.kind === 'invalid' && failure.type === 'welcome')
      return this.#break(failure.message)
    if (failure.kind === 'invalid' && ['ok', 'error'].includes(failure.type)) return
    if (failure.kind === 'unknown' && failure.id === undefined) return
    const [code, message] =
      failure.kind === 'invalid'
        ? ['invalid', failure.message]
        : ['unknown_type', `unknown message type "${failure.type.slice(0, 64)}"`]
    this.send(errorText(failure.id, { code, message, retryable: false }))
  }

  #handle(message: FromServer): void {
    switch (message.type) {
      case 'ok':
        return this.#pending.get(message.id)?.(ok(message.body))
      case 'error':
        return this.#fail(message)
      case 'welcome':
        if (this.#welcome !== null) return
        this.#welcome = message
        return this.#options.welcomed(this)
      default:
        if (this.#welcome === null) return this.#break(`${message.type} before welcome`)
        return this.#options.heard(message, this)
    }
  }

  /** Ignores a late or second answer. */
  #fail(reply: Extract<ServerReply, { type: 'error' }>): void {
    const { id, code, message, retryable } = reply
    if (id !== undefined) this.#pending.get(id)?.(fail({ code, message, retryable }))
  }

  #break(what: string): void {
    this.#socket.close(closeCodes.badMessage, what.slice(0, 100))
    this.#finish({ kind: 'lost', text: `the server sent an invalid message (${what})` })
    this.#cutLater('')
  }

  /** Closes the socket when the server does not answer the close frame. */
  #cutLater(text: string): void {
    const cancel = this.#options.timer.after(this.#options.limits.stopGraceMs, () => this.cut(text))
    this.#socket.once('close', cancel)
  }

  #wake(): void {
    const waiters = this.#waiters
    this.#waiters = []
    for (const wake of waiters) wake()
  }

  #finish(ending: Ending): void {
    if (this.signal.aborted) return
    this.#over.abort()
    for (const settle of [...this.#pending.values()]) settle(fail(lost))
    this.#wake()
    this.#resolveEnded(ending)
  }
}
