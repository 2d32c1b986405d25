import { ask, type Events, RawSession } from '../helpers/mcp.ts'
import { listenStateless, statelessPost } from '../helpers/stateless.ts'

export type Transport = 'session' | 'stateless'

/** What a client knows of one URI that it follows. */
interface Followed {
  /** What it read last, or `gone`. */
  value: unknown
  /** It must be read: an update came, or it was subscribed. */
  isDirty: boolean
  /** Where its updates arrive; null: it is not subscribed. */
  stream: Events | null
  /** The gateway said that the instance is gone, and took no subscription. */
  isOver: boolean
  /** Why the gateway took no subscription the last time. */
  refused: string | null
}

const isGone = (message: string) => /has ended|no such instance/.test(message)

/** A client that reads what it follows after each update, and comes back to a new gateway. */
export class FollowingClient {
  readonly followed = new Map<string, Followed>()
  /** URIs of updates that it did not ask for. */
  readonly foreign: string[] = []
  updates = 0
  reads = 0
  readonly #url: string
  readonly #transport: Transport
  /** Of its requests by the stateless transport, beside the usual ones. */
  readonly #headers: Record<string, string>
  readonly #handled = new WeakMap<Events, number>()
  #session: { readonly calls: RawSession; readonly events: Events } | null = null

  constructor(url: string, transport: Transport, headers: Record<string, string> = {}) {
    this.#url = url
    this.#transport = transport
    this.#headers = headers
  }

  /** In one spelling: a session that subscribes in another one replaces the first. */
  follow(uri: string): void {
    if (this.followed.has(uri)) return
    this.followed.set(uri, {
      value: null,
      isDirty: false,
      stream: null,
      isOver: false,
      refused: null,
    })
  }

  /** Only a client of the stateless transport, which ends the stream, hears nothing from then on. */
  leave(uri: string): void {
    if (this.#transport === 'session') return
    this.followed.get(uri)?.stream?.close()
    this.followed.delete(uri)
  }

  /** Does what there is to do now. Never rejects: without a gateway it is tried again. */
  async step(): Promise<void> {
    try {
      await this.#connect()
      const entries = [...this.followed]
      await Promise.all(entries.map(([uri, one]) => this.#subscribe(uri, one)))
      for (const [uri, { stream }] of entries) if (stream !== null) this.#hear(stream, uri)
      await Promise.all(entries.map(([uri, one]) => this.#read(uri, one)))
    } catch {
      // The gateway was killed; the streams tell it, too.
    }
  }

  async close(): Promise<void> {
    for (const { stream } of this.followed.values()) stream?.close()
    this.#session?.events.close()
  }

  async #connect(): Promise<void> {
    if (this.#transport === 'stateless' || this.#session?.events.ended === false) return
    this.#session = null
    const calls = await RawSession.open(this.#url)
    this.#session = { calls, events: await calls.listen() }
  }

  async #subscribe(uri: string, one: Followed): Promise<void> {
    if (one.isOver || one.stream?.ended === false) return
    one.stream = null
    const refused = await this.#open(uri, one)
    one.refused = refused
    if (refused === null) one.isDirty = true
    else if (isGone(refused)) Object.assign(one, { value: 'gone', isDirty: false, isOver: true })
  }

  /** Null, or why the gateway refuses. */
  async #open(uri: string, one: Followed): Promise<string | null> {
    if (this.#session !== null) {
      const { calls, events } = this.#session
      const { error } = await calls.call('resources/subscribe', { uri })
      if (error === undefined) one.stream = events
      return error?.message ?? null
    }
    try {
      one.stream = await listenStateless(
        this.#url,
        { resourceSubscriptions: [uri] },
        1,
        this.#headers,
      )
      // It was left meanwhile.
      if (this.followed.get(uri) !== one) one.stream.close()
      return null
    } catch (error) {
      return (error as Error).message
    }
  }

  #hear(stream: Events, uri: string): void {
    const { messages } = stream
    const from = this.#handled.get(stream) ?? 0
    this.#handled.set(stream, messages.length)
    for (const { method, params } of messages.slice(from)) {
      if (method !== 'notifications/resources/updated') continue
      this.updates++
      const one = this.followed.get(params.uri)
      const isMeant = this.#transport === 'session' ? one !== undefined : params.uri === uri
      if (!isMeant) this.foreign.push(params.uri)
      else if (one !== undefined) one.isDirty = true
    }
  }

  async #read(uri: string, one: Followed): Promise<void> {
    if (!one.isDirty) return
    one.isDirty = false
    this.reads++
    try {
      const { result, error } =
        this.#session === null
          ? (await ask(this.#url, statelessPost('resources/read', { uri }, this.#headers))).json
          : await this.#session.calls.call('resources/read', { uri })
      if (result !== undefined) {
        one.value = JSON.parse(result.contents[0].text).value
      } else if (isGone(error.message)) one.value = 'gone'
      else one.isDirty = true
    } catch (error) {
      one.isDirty = true
      throw error
    }
  }
}
