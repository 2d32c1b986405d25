import { randomBytes } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { RequestId } from '../../lib/mcp/json-rpc.ts'
import { isJsonObject, type JsonObject } from '../../lib/util/json.ts'
import { fail, ok, type Result } from '../../lib/util/result.ts'
import { type Clock, repeat, systemTimer } from '../../lib/util/time.ts'
import type { Call } from './call.ts'
import type { Client, ClientTable } from './client-table.ts'
import { Refusal, rpcCodes } from './errors.ts'
import { eventFrame, type EventStream, type StreamEncoder } from './event-stream.ts'
import type { Message } from './json-rpc.ts'
import type { KeptSession, KeptSessions } from './kept-sessions.ts'
import type { Subscriber, SubscriptionHub, Topic } from './subscriptions.ts'

/** The revisions of the session transport, newest first. Dates, so they compare as strings. */
export const sessionRevisions = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const

export type SessionRevision = (typeof sessionRevisions)[number]

const sweepMs = 60_000

/** One client's session: its negotiated revision, its stream, its subscriptions (in the hub). */
export class Session implements Subscriber {
  readonly id: string
  readonly revision: SessionRevision
  /** The caller that opened it; the session refuses all others. */
  readonly principal: string
  /** Undefined: this server does not tell who its clients are. */
  readonly client: Client | undefined
  lastSeenMs: number
  stream: EventStream | null = null
  /** Opened with the server before a restart, and without a stream since. */
  isRestored = false
  readonly #inFlight = new Map<RequestId, Call>()

  constructor(
    id: string,
    revision: SessionRevision,
    principal: string,
    client: Client | undefined,
    nowMs: number,
  ) {
    this.id = id
    this.revision = revision
    this.principal = principal
    this.client = client
    this.lastSeenMs = nowMs
  }

  /** From now on the client can cancel the call by its id. Of two with one id, the first keeps it. */
  add(call: Call): void {
    if (!this.#inFlight.has(call.id)) this.#inFlight.set(call.id, call)
  }

  remove(call: Call): void {
    if (this.#inFlight.get(call.id) === call) this.#inFlight.delete(call.id)
  }

  /**
   * Cancels what a notification names. An id that is unknown, malformed or answered is ignored
   * ("Cancellation", "Error Handling"), as is every other message.
   */
  apply(message: Message): void {
    if (message.kind !== 'notification' || message.method !== 'notifications/cancelled') return
    this.#inFlight.get(message.params.requestId as RequestId)?.cancel()
  }

  cancelAll(): void {
    for (const call of this.#inFlight.values()) call.cancel()
  }

  // Best effort by specification: without a stream the update is gone, nothing is queued.
  resourceUpdated(topic: Topic): void {
    this.stream?.resourceUpdated(topic)
  }

  listChanged(): void {
    this.stream?.listChanged()
  }
}

interface SessionsParts {
  readonly hub: SubscriptionHub
  readonly clients?: ClientTable
  /** Absent: no session survives the server. */
  readonly kept?: KeptSessions
  readonly clock: Clock
  readonly limits: { readonly maxSessions: number; readonly sessionIdleMs: number }
}

/** All live sessions of a server. */
export class Sessions {
  /** By id, the least recently used first. */
  readonly #byId = new Map<string, Session>()
  /** Goes on where the last look for room ended: a Map keeps the holes of what was deleted before. */
  #oldest = this.#byId.values()
  readonly #parts: SessionsParts
  readonly #stopSweeps: () => void

  constructor(parts: SessionsParts) {
    this.#parts = parts
    this.#stopSweeps = repeat(systemTimer, sweepMs, async () => this.sweep())
  }

  get size(): number {
    return this.#byId.size
  }

  /** Sessions with an open stream. */
  get streams(): number {
    return [...this.#byId.values()].filter(({ stream }) => stream !== null).length
  }

  /**
   * `clientInfo`: as the client sent it. At the limit the least recently used session without a stream
   * ends; null when every session has a stream.
   */
  create(
    revision: SessionRevision,
    principal: string,
    clientInfo?: unknown,
    id: string = randomBytes(24).toString('base64url'),
  ): Session | null {
    const { hub, clients, kept, clock, limits } = this.#parts
    if (this.#byId.size >= limits.maxSessions) {
      const idlest = this.#nextIdle()
      if (idlest === undefined) return null
      void this.delete(idlest)
    }
    const client = clients?.ofSession(clientInfo, principal)
    const session = new Session(id, revision, principal, client, clock.now())
    this.#byId.set(id, session)
    hub.add(session)
    kept?.add(id, () => this.#keptSession(session))
    return session
  }

  #keptSession(session: Session): KeptSession {
    const { revision, principal, client, stream, lastSeenMs } = session
    const { hub, clock } = this.#parts
    return {
      principal,
      revision,
      clientInfo: { name: client?.name ?? '', version: client?.version ?? '' },
      subscriptions: Array.from(hub.topicsOf(session).values(), ({ uri, base }) => [uri, base]),
      lastUsedMs: Date.now() - (stream === null ? clock.now() - lastSeenMs : 0),
    }
  }

  /** The session of the server before, with its subscriptions. */
  #restore(id: string, principal: string): Session | null {
    const { kept, limits } = this.#parts
    const before = kept?.find(id)
    if (!before || before.principal !== principal) return null
    if (Date.now() - before.lastUsedMs >= limits.sessionIdleMs) return null
    const session = this.create(before.revision, principal, before.clientInfo, id)
    if (session === null) return null
    session.isRestored = true
    for (const [uri, canonical] of before.subscriptions) {
      // One that is refused now was for a resource that went with the server before.
      this.subscribe(session, uri, canonical).catch(() => {})
    }
    return session
  }

  /**
   * The session that a request names in its headers, which keeps it alive; it may be of the server
   * before. Throws `Refusal`. The session of another principal is as if it were not there.
   */
  find(headers: IncomingHttpHeaders, principal: string): Session {
    const { 'mcp-session-id': id, 'mcp-protocol-version': version } = headers
    const refused = { code: rpcCodes.refused }
    if (typeof id !== 'string' || id === '') {
      throw new Refusal(400, 'the Mcp-Session-Id header is missing: initialize first', refused)
    }
    if (version !== undefined && !isSessionRevision(version)) {
      const supported = sessionRevisions.join(', ')
      const message = `unsupported MCP-Protocol-Version; supported: ${supported}`
      throw new Refusal(400, message, refused)
    }
    const session = this.#byId.get(id) ?? this.#restore(id, principal)
    if (session?.principal === principal) {
      if (!this.#isExpired(session)) {
        this.touch(session)
        return session
      }
      void this.delete(session)
    }
    const message = 'session not found: it ended or never was; initialize again'
    throw new Refusal(404, message, { code: rpcCodes.sessionNotFound })
  }

  /** The session is in use now, which keeps it alive. */
  touch(session: Session): void {
    session.lastSeenMs = this.#parts.clock.now()
    // One that has ended does not come back.
    if (this.#byId.delete(session.id)) this.#byId.set(session.id, session)
  }

  /**
   * Each message goes to exactly one stream of a session: the newest, the older one ends. After a restart
   * the stream begins with one update of each subscription: any may have been missed.
   */
  attach(session: Session, stream: EventStream): void {
    session.stream?.end()
    session.stream = stream
    if (!session.isRestored) return
    session.isRestored = false
    stream.listChanged()
    for (const topic of this.#parts.hub.topicsOf(session).values()) stream.resourceUpdated(topic)
  }

  isLive(session: Session): boolean {
    return this.#byId.get(session.id) === session
  }

  /** Resolves when updates of the URI arrive; throws or rejects when they never will. */
  async subscribe(session: Session, uri: string, canonical: string): Promise<void> {
    const { hub, kept } = this.#parts
    const opening = hub.subscribe(session, uri, canonical)
    kept?.changed()
    await opening
  }

  /** Returns whether there was such a subscription. */
  unsubscribe(session: Session, uri: string): boolean {
    const { hub, kept } = this.#parts
    kept?.changed()
    return hub.unsubscribe(session, uri)
  }

  /** Resolves once no later server knows it either. */
  async delete(session: Session): Promise<void> {
    this.#forget(session)
    session.cancelAll()
    await this.#parts.kept?.remove(session.id)
  }

  /** Ends what has been idle for too long. */
  sweep(): void {
    for (const session of this.#byId.values()) {
      if (this.#isExpired(session)) void this.delete(session)
    }
    // For the time of their last use.
    this.#parts.kept?.changed()
  }

  /** Ends every session: the server stops. What is being read is still answered. */
  close(): void {
    this.#stopSweeps()
    for (const session of this.#byId.values()) {
      session.stream?.end(retryLater)
      this.#forget(session)
      this.#parts.kept?.ended(session.id)
    }
  }

  #forget(session: Session): void {
    const { hub, clients } = this.#parts
    this.#byId.delete(session.id)
    hub.remove(session)
    if (session.client !== undefined) clients?.sessionEnded(session.client)
    session.stream?.end()
    session.stream = null
  }

  /** The longest idle session without a stream. */
  #nextIdle(): Session | undefined {
    const isIdle = ({ stream }: Session) => stream === null
    const next = this.#oldest.find(isIdle)
    if (next !== undefined) return next
    this.#oldest = this.#byId.values()
    return this.#oldest.find(isIdle)
  }

  #isExpired({ stream, lastSeenMs }: Session): boolean {
    const { clock, limits } = this.#parts
    return stream === null && clock.now() - lastSeenMs >= limits.sessionIdleMs
  }
}

/**
 * The revision to speak, from the params of `initialize`: what the client asks for if it is supported,
 * else the newest ("Lifecycle"). The failure is a text for the client.
 */
export function negotiate(params: JsonObject): Result<SessionRevision, string> {
  const { protocolVersion, capabilities = {}, clientInfo = {} } = params
  if (typeof protocolVersion !== 'string') return fail('"protocolVersion" must be a string')
  if (!isJsonObject(capabilities)) return fail('"capabilities" must be an object')
  if (!isJsonObject(clientInfo)) return fail('"clientInfo" must be an object')
  return ok(isSessionRevision(protocolVersion) ? protocolVersion : sessionRevisions[0])
}

function isSessionRevision(version: unknown): version is SessionRevision {
  return (sessionRevisions as readonly unknown[]).includes(version)
}

/**
 * Ends a stream when the server stops. Clients with the MCP SDK try to open it again twice, after 1 s and
 * 2.5 s unless they are told a time: this gives a restart 8 s.
 */
const retryLater = Buffer.from('retry: 4000\n\n')

/** Updates of the session transport carry nothing of their session: one encoding serves all. */
export const sessionEncoder: StreamEncoder = {
  update: topic =>
    topic.encoded('session', uri =>
      eventFrame({ method: 'notifications/resources/updated', params: { uri } }),
    ),
  listChanged: eventFrame({ method: 'notifications/resources/list_changed' }),
}
