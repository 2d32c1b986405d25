import { expect } from 'chai'
import fc from 'fast-check'
import { AuditLog, type AuthPolicy, SessionEventBuffer } from '../../src/index.ts'
import { ask, Events, RawSession, rpc, startServer, type TestServer } from '../helpers/mcp.ts'
import { listenStateless } from '../helpers/stateless.ts'
import { replay } from './replay.ts'

const runs = Number(process.env.FUZZ_CASES ?? 100)

/** Sessions 0 and 1 are Alice's, 2 and 3 Bob's. */
const owners = ['alice', 'alice', 'bob', 'bob'] as const

/** A resource that changes, under spellings that all mean it. */
const changing = {
  'scene://current': ['scene://current', 'SCENE://current', 'scene://%63urrent'],
  'audit://recent': ['audit://recent', 'Audit://recent'],
  'thing://a': ['thing://a', 'thing://%61', 'THING://a'],
  'thing://b': ['thing://b'],
} as const
type Changing = keyof typeof changing

/** One thing that happens, to or by one of the sessions. */
type Op =
  | { readonly op: 'subscribe' | 'unsubscribe'; readonly by: number; readonly uri: string }
  | { readonly op: 'read'; readonly by: number; readonly uri: string }
  | { readonly op: 'change'; readonly what: Changing }
  /** With the id of somebody else's session and a key of one's own. */
  | { readonly op: 'steal'; readonly of: number; readonly method: string; readonly uri: string }
  | { readonly op: 'reconnect' | 'end'; readonly by: number }
  /** A stream of the stateless transport. */
  | { readonly op: 'listen'; readonly uris: readonly string[]; readonly list: boolean }
  | { readonly op: 'hang up'; readonly at: number }
  /** The listing becomes another one. */
  | { readonly op: 'list' }

const by = fc.nat(owners.length - 1)
const spelling = fc.constantFrom<string>(...Object.values(changing).flat())
const unpushed = fc.constantFrom('events://session/none', 'capture://current_window')

/** Operations of a kind, as often as the weight says. */
const ops = (weight: number, op: Op['op'], fields: Record<string, fc.Arbitrary<unknown>> = {}) => ({
  weight,
  arbitrary: fc.record({ op: fc.constant(op), ...fields }) as fc.Arbitrary<Op>,
})
const methods = ['resources/subscribe', 'resources/unsubscribe', 'resources/read', 'GET', 'DELETE']

const someOps: fc.Arbitrary<readonly Op[]> = fc.array(
  fc.oneof(
    ops(6, 'subscribe', { by, uri: spelling }),
    ops(6, 'change', { what: fc.constantFrom(...Object.keys(changing)) }),
    ops(3, 'unsubscribe', { by, uri: spelling }),
    ops(3, 'read', { by, uri: spelling }),
    ops(3, 'steal', { of: by, method: fc.constantFrom(...methods), uri: spelling }),
    ops(1, 'subscribe', { by, uri: unpushed }),
    ops(1, 'reconnect', { by }),
    ops(1, 'end', { by }),
    ops(3, 'listen', {
      uris: fc.array(fc.oneof(spelling, unpushed), { maxLength: 4 }),
      list: fc.boolean(),
    }),
    ops(1, 'hang up', { at: fc.nat(5) }),
    ops(1, 'list'),
  ),
  { minLength: 1, maxLength: 40, size: 'max' },
)

/** The resource that a spelling means; undefined for one that never changes. */
function resourceOf(uri: string): Changing | undefined {
  const all = Object.entries(changing) as [Changing, readonly string[]][]
  return all.find(([, spellings]) => spellings.includes(uri))?.[0]
}

/** Everyone is who the key says. */
const auth: AuthPolicy = {
  authenticate({ headers: { authorization = '' } }) {
    const principal = authorization.slice('Bearer '.length)
    if (principal === 'alice' || principal === 'bob') return { ok: true, principal }
    return { ok: false, status: 401, description: 'nobody' }
  },
}

/** Who is there in one run. */
interface Cast {
  readonly sessions: readonly IsolatedSession[]
  readonly listeners: IsolatedListener[]
}

/**
 * Whatever several people's sessions do at the same time: each is told of exactly what it subscribed
 * to, in its own words, and nobody reaches into the session of another.
 */
describe(`sessions side by side, ${runs} random runs`, function () {
  const budgetMs = 20_000 + runs * 300
  this.timeout(budgetMs + 10_000)
  let running: TestServer
  const log = new AuditLog()
  let lastId = 0

  before(async () => {
    running = await startServer({ limits: { maxSessions: 200 } }, { auth }, server => {
      server.resources().wireAuditLog(log)
      server
        .resources()
        .addProducer({ scheme: 'thing', list: () => [], read: uri => [{ uri, text: uri }] })
    })
  })

  function change(what: Changing): void {
    const resources = running.server.resources()
    if (what === 'scene://current') resources.setScene({ at: ++lastId })
    else if (what === 'audit://recent') log.record({ action: 'a' })
    else resources.notifyUpdated(what)
  }

  async function read(session: IsolatedSession, uri: string): Promise<void> {
    const own = session.own(uri)
    const id = `read ${++lastId} of ${own}`
    const answer = await session.raw.post(rpc('resources/read', { uri: own }, id))
    expect(answer.status).to.equal(200)
    expect(answer.json.id).to.equal(id)
    expect(answer.json.result.contents[0].uri).to.equal(own)
  }

  async function steal(of: number, sessions: readonly IsolatedSession[], op: Op): Promise<void> {
    const session = sessions[of]
    if (session === undefined || op.op !== 'steal') return
    const thief = owners.find(owner => owner !== owners[of])
    const isPost = op.method !== 'GET' && op.method !== 'DELETE'
    const answer = await ask(running.url, {
      method: isPost ? 'POST' : op.method,
      headers: {
        ...session.raw.headers,
        ...(op.method === 'GET' && { Accept: 'text/event-stream' }),
        Authorization: `Bearer ${thief}`,
      },
      ...(isPost && { body: rpc(op.method, { uri: session.own(op.uri) }, ++lastId) }),
    })
    // As if there were no such session: not even that there is one can be found out.
    expect(answer.status).to.equal(404)
    expect(answer.json.error.code).to.equal(-32001)
  }

  async function step(op: Op, { sessions, listeners }: Cast): Promise<void> {
    switch (op.op) {
      case 'steal':
        return steal(op.of, sessions, op)
      case 'listen':
        listeners.push(await IsolatedListener.open(running.url, op, ++lastId))
        return
      case 'list': {
        const buffer = new SessionEventBuffer({ sessionId: `s${++lastId}` })
        running.server.resources().registerSessionEventBuffer(buffer)
        return running.server.resources().removeSessionEventBuffer(buffer)
      }
      case 'hang up':
        for (const listener of listeners.splice(op.at, 1)) listener.close()
        return
      case 'change':
        change(op.what)
        for (const each of [...sessions, ...listeners]) each.changed(op.what)
        return
    }
    const session = sessions[op.by]
    if (session === undefined || session.ended) return
    if (op.op === 'subscribe') return session.subscribe(op.uri)
    if (op.op === 'unsubscribe') return session.unsubscribe(op.uri)
    if (op.op === 'read') return read(session, op.uri)
    return op.op === 'end' ? session.end() : session.listen()
  }

  it('are told of what they subscribed to, once each, and of nothing else', () =>
    fc.assert(
      fc.asyncProperty(someOps, async ops => {
        const sessions = await Promise.all(
          owners.map((owner, number) => IsolatedSession.open(running.url, owner, number)),
        )
        const listeners: IsolatedListener[] = []
        try {
          for (const op of ops) await step(op, { sessions, listeners })
          const flush = (uri: string) => running.server.resources().notifyUpdated(uri)
          await Promise.all([...sessions, ...listeners].map(each => each.settle(flush)))
        } finally {
          for (const each of [...sessions, ...listeners]) each.close()
        }
      }),
      replay(runs, budgetMs),
    ))
})

/** One session, and what it must have been told if the server keeps to what was asked of it. */
class IsolatedSession {
  readonly raw: RawSession
  readonly #mark: string
  readonly #streams: Events[] = []
  /** What each spelling that it subscribed to means. */
  readonly #subscribed = new Map<string, Changing>()
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
    if (resource !== undefined) this.#subscribed.set(own, resource)
  }

  async unsubscribe(uri: string): Promise<void> {
    const own = this.own(uri)
    expect((await this.raw.call('resources/unsubscribe', { uri: own })).result).to.deep.equal({})
    this.#subscribed.delete(own)
  }

  changed(what: Changing): void {
    if (this.#ended) return
    for (const [own, resource] of this.#subscribed) {
      if (resource === what) this.#expected.push(own)
    }
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

const subscriptionId = 'io.modelcontextprotocol/subscriptionId'

/** One stream of the stateless transport, and what it must have been told. */
class IsolatedListener {
  readonly #events: Events
  readonly #id: string | number
  /** A URI that is the stream's own: when it is told of that one, nothing is under way any more. */
  readonly #last: string
  /** What each spelling asked for means, with a mark of the stream's own. */
  readonly #wanted: ReadonlyMap<string, Changing>
  readonly #wantsList: boolean
  readonly #expected: string[] = []

  private constructor(
    events: Events,
    number: number,
    wanted: ReadonlyMap<string, Changing>,
    list: boolean,
  ) {
    this.#events = events
    this.#id = idOf(number)
    this.#last = lastOf(number)
    this.#wanted = wanted
    this.#wantsList = list
  }

  static async open(
    url: string,
    asked: { readonly uris: readonly string[]; readonly list: boolean },
    number: number,
  ): Promise<IsolatedListener> {
    // Parameters that `scene://` does not know are refused.
    const own = (uri: string) => (/^scene:/i.test(uri) ? uri : `${uri}?of=listener-${number}`)
    const resourceSubscriptions = [...asked.uris.map(own), lastOf(number)]
    const notifications = { resourcesListChanged: asked.list, resourceSubscriptions }
    const bob = { Authorization: 'Bearer bob' }
    const events = await listenStateless(url, notifications, idOf(number), bob)
    const wanted = new Map<string, Changing>()
    for (const uri of asked.uris) {
      const resource = resourceOf(uri)
      if (resource !== undefined) wanted.set(own(uri), resource)
    }
    return new IsolatedListener(events, number, wanted, asked.list)
  }

  changed(what: Changing): void {
    for (const [own, resource] of this.#wanted) {
      if (resource === what) this.#expected.push(own)
    }
  }

  close(): void {
    this.#events.close()
  }

  /** Compares what arrived, once all of it did: `flush` tells of the last URI of the filter. */
  async settle(flush: (uri: string) => void): Promise<void> {
    const last = this.#last
    flush(last)
    await this.#events.until(() => this.#events.updates.includes(last), last)
    const [acknowledgement, ...messages] = this.#events.messages
    expect(acknowledgement.method).to.equal('notifications/subscriptions/acknowledged')
    expect(acknowledgement.params.notifications).to.deep.equal({
      ...(this.#wantsList && { resourcesListChanged: true }),
      resourceSubscriptions: [...this.#wanted.keys(), last],
    })
    for (const { params } of this.#events.messages) {
      expect(params._meta).to.deep.equal({ [subscriptionId]: this.#id })
    }
    const methods = new Set(messages.map(({ method }) => method))
    methods.delete('notifications/resources/updated')
    if (this.#wantsList) methods.delete('notifications/resources/list_changed')
    expect([...methods]).to.deep.equal([])
    const got = this.#events.updates.filter(uri => uri !== last)
    expect(got.sort()).to.deep.equal(this.#expected.sort())
    this.close()
  }
}

/** Texts and numbers, which must come back as what they are. */
function idOf(number: number): string | number {
  return number % 2 === 0 ? number : `${number}`
}

function lastOf(number: number): string {
  return `thing://last-listener-${number}`
}
