import type { HttpLimits } from './limits.ts'
import type { Logger } from '../../lib/util/logger.ts'
import { baseUrlOf, type ListenOptions } from './listen-options.ts'
import { type Handlers, listen, type Listening } from './listen.ts'
import { TlsSource } from './tls-source.ts'

interface SocketParts {
  readonly limits: HttpLimits
  readonly log: Logger
}

/** The listening socket of a server, with its certificate. */
export class ServerSocket {
  readonly #where: ListenOptions
  readonly #parts: SocketParts
  readonly #tls: TlsSource | undefined
  #listening: Listening | null = null
  #stopped: Promise<void> | null = null

  private constructor(where: ListenOptions, parts: SocketParts, tls: TlsSource | undefined) {
    this.#where = where
    this.#parts = parts
    this.#tls = tls
  }

  /** Reads the certificate and follows it. Throws `config_invalid` when it cannot be used. */
  static async open(where: ListenOptions, parts: SocketParts): Promise<ServerSocket> {
    return new ServerSocket(where, parts, where.tls && (await TlsSource.open(where.tls, parts)))
  }

  get isBound(): boolean {
    return this.#listening !== null
  }

  /** The bound port; the wanted one before. */
  get port(): number {
    return this.#listening?.address.port ?? this.#where.port
  }

  /** The address clients use, without a slash at its end. */
  get url(): string {
    return baseUrlOf(this.#where, this.port)
  }

  /** Throws `port_in_use` or `listen_failed`; then it may be called again. */
  async bind(handlers: Handlers): Promise<this> {
    this.#listening = await listen(this.#where, { ...handlers, ...this.#parts, tls: this.#tls })
    return this
  }

  /** As the `stop` of `Listening`, at most once; also lets go of the certificate. */
  stop(endStreams = () => {}): Promise<void> {
    this.#tls?.close()
    return (this.#stopped ??= this.#listening?.stop(endStreams) ?? Promise.resolve())
  }
}

/** The end of a server that runs. */
export interface Stoppable {
  /** Ends the server, once. Resolves when it has stopped, also when that failed. */
  stop(): Promise<void>
  /** Settles when the server has stopped for any reason; rejects when that failed. */
  readonly closed: Promise<void>
}

/** `end` is called at most once. */
export function stoppable(end: () => Promise<unknown>): Stoppable {
  const closed = Promise.withResolvers<void>()
  let stopping: Promise<void> | null = null
  return {
    closed: closed.promise,
    stop: () => (stopping ??= end().then(() => closed.resolve(), closed.reject)),
  }
}
