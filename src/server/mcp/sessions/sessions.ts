import type { McpLimits } from '../limits.ts'
import { randomBytes } from 'node:crypto'
import { ServiceError } from '../../../lib/util/errors.ts'
import type { Clock } from '../../../lib/util/time.ts'
import type { Client } from '../client.ts'
import type { ClientTable } from '../client-table.ts'
import type { EventStream } from '../event-stream.ts'
import type { Subscriber, SubscriptionHub, Topic } from '../subscriptions.ts'
import { isSessionRevision, type SessionRevision, sessionRevisions } from './initialize.ts'
import type { RequestId } from '../../../lib/mcp/json-rpc.ts'
import type { IncomingHttpHeaders } from 'node:http'
import { fail, ok, type Result } from '../../../lib/util/result.ts'
import { rpcCodes } from '../errors.ts'

/** One client's session: its negotiated revision, its stream, its subscriptions (in the hub). */
export class Session implements Subscriber {
  readonly id = randomBytes(24).toString('base64url')
  readonly revision: SessionRevision
  /** The caller that opened it; the session refuses all others. */
  readonly principal: string
  readonly requests = new OpenRequests()
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
    session.requests.cancelAll()
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

/** The open requests of one session, by their ids: `notifications/cancelled` names one of them. */
class OpenRequests {
  readonly #byId = new Map<RequestId, AbortController>()

  /** `end` must follow. */
  begin(id: RequestId): AbortController {
    const request = new AbortController()
    // Of two with one id the first one keeps it: a cancellation cannot name the second.
    if (!this.#byId.has(id)) this.#byId.set(id, request)
    return request
  }

  end(id: RequestId, request: AbortController): void {
    if (this.#byId.get(id) === request) this.#byId.delete(id)
  }

  /** An id that is none, unknown or over by now is ignored ("Cancellation", "Error Handling"). */
  cancel(id: unknown): void {
    this.#byId.get(id as RequestId)?.abort(new ServiceError('cancelled', 'the caller has left'))
  }

  /** The session has ended. */
  cancelAll(): void {
    for (const id of this.#byId.keys()) this.cancel(id)
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
