import type { McpLimits } from '../limits.ts'
import { randomBytes } from 'node:crypto'
import type { Clock } from '../../../lib/util/time.ts'
import type { Client } from '../client.ts'
import type { ClientTable } from '../client-table.ts'
import type { EventStream } from '../event-stream.ts'
import type { Subscriber, SubscriptionHub, Topic } from '../subscriptions.ts'
import { isSessionRevision, type SessionRevision, sessionRevisions } from './initialize.ts'
import type { RequestId } from '../../../lib/mcp/json-rpc.ts'
import type { Reader } from '../../resources/producer.ts'
import type { IncomingHttpHeaders } from 'node:http'
import { fail, ok, type Result } from '../../../lib/util/result.ts'
import { rpcCodes } from '../errors.ts'

/** One client's session: its negotiated revision, its stream, its subscriptions (in the hub). */
export class Session implements Subscriber {
  readonly id = randomBytes(24).toString('base64url')
  readonly revision: SessionRevision
  /** The caller that opened it; the session refuses all others. */
  readonly principal: string
  readonly reads = new CancellableReads()
  /** Null: this server does not tell who its clients are. */
  readonly client: Client | null
  lastSeenMs: number
  stream: EventStream | null = null

  constructor(revision: SessionRevision, principal: string, client: Client | null, nowMs: number) {
    this.revision = revision
    this.principal = principal
    this.client = client
    this.lastSeenMs = nowMs
  }

  // Best effort by specification: without a stream the update is gone, nothing is queued.
  resourceUpdated(topic: Topic): void {
    this.stream?.resourceUpdated(topic)
  }

  listChanged(): void {
    this.stream?.listChanged()
  }
}

type SessionLimits = Pick<McpLimits, 'maxSessions' | 'sessionIdleMs'>

interface SessionsParts {
  readonly hub: SubscriptionHub
  readonly clients?: ClientTable
  readonly clock: Clock
  readonly limits: SessionLimits
}

const sweepMs = 60_000

/** All live sessions of a server. */
export class Sessions {
  readonly #byId = new Map<string, Session>()
  readonly #hub: SubscriptionHub
  readonly #clients: ClientTable | undefined
  readonly #clock: Clock
  readonly #limits: SessionLimits
  readonly #sweeper: NodeJS.Timeout
  /** As of the last look at all, the idlest last: one look serves many who need room. */
  #idle: { readonly session: Session; readonly seenMs: number }[] = []

  constructor(parts: SessionsParts) {
    this.#hub = parts.hub
    this.#clients = parts.clients
    this.#clock = parts.clock
    this.#limits = parts.limits
    this.#sweeper = setInterval(() => this.sweep(), sweepMs)
    this.#sweeper.unref()
  }

  get size(): number {
    return this.#byId.size
  }

  /**
   * `info`: what the client said of itself. Null when the limit is reached and every session has a
   * stream open.
   */
  open(revision: SessionRevision, principal: string, info?: unknown): Session | null {
    if (this.#byId.size >= this.#limits.maxSessions && !this.#evictIdlest()) return null
    const client = this.#clients?.ofSession({ protocolVersion: revision, principal, info }) ?? null
    const session = new Session(revision, principal, client, this.#clock.now())
    this.#byId.set(session.id, session)
    this.#hub.add(session)
    return session
  }

  /** The session, if it lives and belongs to the principal. Using it keeps it alive. */
  find(id: string, principal: string): Session | null {
    const session = this.#byId.get(id)
    if (session === undefined || session.principal !== principal) return null
    const now = this.#clock.now()
    if (this.#isIdle(session, now)) {
      this.end(session)
      return null
    }
    session.lastSeenMs = now
    return session
  }

  isLive(session: Session): boolean {
    return this.#byId.get(session.id) === session
  }

  end(session: Session): void {
    this.#forget(session)
    session.reads.cancelAll()
  }

  /** Ends what has been idle for too long. */
  sweep(): void {
    const now = this.#clock.now()
    for (const session of this.#byId.values()) if (this.#isIdle(session, now)) this.end(session)
  }

  /** Ends every session: the server stops. What is being read is still answered. */
  close(): void {
    clearInterval(this.#sweeper)
    for (const session of this.#byId.values()) this.#forget(session)
  }

  #forget(session: Session): void {
    this.#byId.delete(session.id)
    this.#hub.remove(session)
    session.client?.gone()
    session.stream?.end()
    session.stream = null
  }

  #isIdle(session: Session, now: number): boolean {
    return session.stream === null && now - session.lastSeenMs >= this.#limits.sessionIdleMs
  }

  #evictIdlest(): boolean {
    let idlest = this.#nextIdle()
    if (idlest === undefined) {
      this.#idle = [...this.#byId.values()]
        .filter(session => session.stream === null)
        .map(session => ({ session, seenMs: session.lastSeenMs }))
        .sort((a, b) => a.seenMs - b.seenMs)
        .reverse()
      idlest = this.#nextIdle()
    }
    if (idlest === undefined) return false
    this.end(idlest)
    return true
  }

  /** All that were used since the look are less idle than those that were not. */
  #nextIdle(): Session | undefined {
    for (let next = this.#idle.pop(); next !== undefined; next = this.#idle.pop()) {
      const { session, seenMs } = next
      const isIdle = session.stream === null && session.lastSeenMs === seenMs
      if (isIdle && this.isLive(session)) return session
    }
    return undefined
  }
}

type ReadLimits = Pick<McpLimits, 'maxCancellableReads'>

/**
 * The reads of one session that `notifications/cancelled` can stop, by the id of their request. A
 * read is among them while its work would notice: all others are over at once, or run to their end.
 */
class CancellableReads {
  readonly #cancels = new Map<RequestId, () => void>()

  reader(id: RequestId, limits: ReadLimits): SessionReader {
    return new SessionReader(cancel => this.#add(id, cancel, limits))
  }

  /**
   * Ids that are none, unknown or over by now are passed over ("Cancellation", "Error Handling").
   */
  cancel(id: unknown): void {
    this.#cancels.get(id as RequestId)?.()
  }

  /** The session has ended. */
  cancelAll(): void {
    for (const cancel of [...this.#cancels.values()]) cancel()
  }

  #add(id: RequestId, cancel: () => void, { maxCancellableReads }: ReadLimits): () => void {
    // Of two open requests with one id the first one keeps it: a cancellation cannot name the
    // second.
    if (this.#cancels.size >= maxCancellableReads || this.#cancels.has(id)) return () => {}
    this.#cancels.set(id, cancel)
    return () => void this.#cancels.delete(id)
  }
}

/**
 * The client of one request of a session: it leaves by saying so, not by closing the connection.
 */
class SessionReader implements Reader {
  readonly #listen: (cancel: () => void) => () => void
  /** Made when first used: most requests end before. */
  #end: PromiseWithResolvers<null> | undefined
  /** One call may do several things that its cancellation ends. */
  readonly #waiting = new Set<() => void>()
  #forget = () => {}
  #hasLeft = false

  constructor(listen: (cancel: () => void) => () => void) {
    this.#listen = listen
  }

  /** Never settles for a request that is not cancelled. */
  get cancelled(): Promise<null> {
    return (this.#end ??= Promise.withResolvers()).promise
  }

  onLeave(left: () => void): () => void {
    if (this.#hasLeft) left()
    else if (this.#waiting.size === 0) this.#forget = this.#listen(() => this.#leave())
    this.#waiting.add(left)
    return () => {
      if (this.#waiting.delete(left) && this.#waiting.size === 0) this.#forget()
    }
  }

  #leave(): void {
    this.#hasLeft = true
    this.#forget()
    this.#end ??= Promise.withResolvers()
    this.#end.resolve(null)
    for (const left of this.#waiting) left()
  }
}

interface SessionRefusal {
  readonly status: number
  readonly code: number
  readonly message: string
}

/** The live session that a request names in its headers, or why it is not served in one. */
export function findSession(
  headers: IncomingHttpHeaders,
  principal: string,
  sessions: Pick<Sessions, 'find'>,
): Result<Session, SessionRefusal> {
  const id = headers['mcp-session-id']
  if (typeof id !== 'string' || id === '') {
    const message = 'the Mcp-Session-Id header is missing: initialize first'
    return fail({ status: 400, code: rpcCodes.refused, message })
  }
  const version = headers['mcp-protocol-version']
  if (version !== undefined && !(typeof version === 'string' && isSessionRevision(version))) {
    const message = `unsupported MCP-Protocol-Version; supported: ${sessionRevisions.join(', ')}`
    return fail({ status: 400, code: rpcCodes.refused, message })
  }
  const session = sessions.find(id, principal)
  if (session !== null) return ok(session)
  const message = 'session not found: it ended or never was; initialize again'
  return fail({ status: 404, code: rpcCodes.sessionNotFound, message })
}
