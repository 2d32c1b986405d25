import { expect } from 'chai'
import { type Events, RawSession } from '../helpers/mcp.ts'
import { type Changing, resourceOf } from './isolation-ops.ts'

/** One session, and what it must have been told if the server keeps to what was asked of it. */
export class IsolatedSession {
  readonly raw: RawSession
  readonly #mark: string
  readonly #streams: Events[] = []
  /** Of each resource, the spelling subscribed last. */
  readonly #subscribed = new Map<Changing, string>()
  readonly #expected: string[] = []
  #ended = false

  private constructor(raw: RawSession, mark: string) {
    this.raw = raw
    this.#mark = mark
  }

  static async open(url: string, owner: string, number: number): Promise<IsolatedSession> {
    const revision = number % 2 === 0 ? '2025-11-25' : '2025-03-26'
    const raw = await RawSession.open(url, revision, { Authorization: `Bearer ${owner}` })
    const session = new IsolatedSession(raw, `?of=${number}`)
    await session.listen()
    return session
  }

  get ended(): boolean {
    return this.#ended
  }

  /** The URI with a mark of the session's own: nobody else may ever see it. */
  own(uri: string): string {
    // Parameters that `scene://` does not know are refused.
    return /^scene:/i.test(uri) ? uri : uri + this.#mark
  }

  /** Takes over from the stream before it. */
  async listen(): Promise<void> {
    this.#streams.push(await this.raw.listen())
  }

  async subscribe(uri: string): Promise<void> {
    const own = this.own(uri)
    expect((await this.raw.call('resources/subscribe', { uri: own })).result).to.deep.equal({})
    const resource = resourceOf(uri)
    if (resource !== undefined) this.#subscribed.set(resource, own)
  }

  async unsubscribe(uri: string): Promise<void> {
    const own = this.own(uri)
    expect((await this.raw.call('resources/unsubscribe', { uri: own })).result).to.deep.equal({})
    const resource = resourceOf(uri)
    if (resource !== undefined) this.#subscribed.delete(resource)
  }

  changed(what: Changing): void {
    if (this.#ended) return
    const own = this.#subscribed.get(what)
    if (own !== undefined) this.#expected.push(own)
  }

  async end(): Promise<void> {
    expect((await this.raw.delete()).status).to.equal(204)
    this.#ended = true
  }

  /** A run that failed must leave nothing open behind. */
  close(): void {
    for (const stream of this.#streams) stream.close()
  }

  /** Compares what arrived, once all of it did: `flush` tells the session of its own last URI. */
  async settle(flush: (uri: string) => void): Promise<void> {
    const last = `thing://last-${this.raw.id}`
    if (!this.#ended) {
      expect((await this.raw.call('resources/subscribe', { uri: last })).result).to.deep.equal({})
      flush(last)
      const newest = this.#streams.at(-1)
      await newest?.until(() => newest.updates.includes(last), last)
      newest?.close()
    }
    await Promise.all(this.#streams.map(stream => stream.untilEnded()))
    const messages = this.#streams.flatMap(stream => stream.messages)
    const methods = new Set(messages.map(({ method }) => method))
    methods.delete('notifications/resources/updated')
    methods.delete('notifications/resources/list_changed')
    expect([...methods]).to.deep.equal([])
    const got = this.#streams.flatMap(stream => stream.updates).filter(uri => uri !== last)
    expect(got.sort()).to.deep.equal(this.#expected.sort())
  }
}
