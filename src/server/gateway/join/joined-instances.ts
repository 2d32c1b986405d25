import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { WebSocket } from 'ws'
import { bearerToken } from '../../../lib/auth/validate-bearer-token.ts'
import { instanceHeader } from '../../../lib/instances/gateway-key.ts'
import {
  type JoinAccepted,
  joinCloseCodes,
  joinProtocol,
  maxJoinMessageBytes,
} from '../../../lib/instances/join-wire.ts'
import { type InstanceRecord, parseRecord } from '../../../lib/instances/record.ts'
import { Unreachable } from '../../../lib/mcp/bridge/bridge-errors.ts'
import { ServiceError } from '../../../lib/util/errors.ts'
import type { Logger } from '../../../lib/util/logger.ts'
import { isUuid } from '../../../lib/util/text.ts'
import { systemTimer } from '../../../lib/util/time.ts'
import type { AccountTokens, CheckedToken } from '../../auth/account-tokens.ts'
import { toProblem } from '../../http/problem.ts'
import type { RefusedRequest } from '../../http/refusal-log.ts'
import { createHandshake } from '../../http/handshake.ts'
import { refuseUpgrade, type Upgrade } from '../../http/upgrade.ts'
import { Link } from '../../join/link.ts'
import type { JoinedAs, Verdict } from '../instance-directory.ts'
import type { LocalDirectory } from '../local-directory.ts'
import type { InstanceTransport } from '../relay/transport.ts'
import { LinkTransport } from './link-transport.ts'

/** An instance whose link is lost stays listed for this long. */
const joinLostMs = 5 * 60_000
/** Of one user, those with a lost link included. */
const maxInstances = 50

/** The user and the token. */
type Principal = Omit<JoinedAs, 'visibility'>

/** An instance with its newest link; it stays known while that is lost. */
interface Joined {
  id: string
  principal: Principal
  link: Link
  transport: LinkTransport
  /** Null before the first one. */
  record: InstanceRecord | null
  /** Null while the link is open. */
  lost: { reason: string; atMs: number } | null
  unwatch: () => void
  cancelGone: () => void
}

interface JoinedInstancesParts {
  /** Where instances are listed once their record is known. */
  directory: LocalDirectory
  tokens: AccountTokens
  onRefused: (refused: RefusedRequest) => void
  log: Logger
}

/** The instances that joined this gateway, and their links. */
export class JoinedInstances {
  readonly #parts: JoinedInstancesParts
  readonly #handshake = createHandshake(joinProtocol, maxJoinMessageBytes)
  /** By the id of the instance. */
  readonly #joined = new Map<string, Joined>()

  constructor(parts: JoinedInstancesParts) {
    this.#parts = parts
  }

  /** Answers a request that asks to open a link. */
  readonly upgrade: Upgrade = (req, socket, head, peer) => {
    this.#open(req, socket, head).catch(error => {
      const problem = toProblem(error)
      const { status, code } = problem
      if (status === 401 || status === 403) this.#parts.onRefused({ status, reason: code, peer })
      refuseUpgrade(req, problem)
    })
  }

  /** Tells the instances that the gateway stops, so that they join the next one. */
  close(): void {
    for (const { link, unwatch, cancelGone } of this.#joined.values()) {
      unwatch()
      cancelGone()
      link.close(joinCloseCodes.stopped, 'the gateway stops')
    }
    this.#joined.clear()
  }

  /** Null: no such instance has joined. */
  transportOf(id: string): InstanceTransport | null {
    if (!this.#joined.has(id)) return null
    return {
      // Over the newest link.
      send: async (request, signal) => {
        const joined = this.#joined.get(id)
        if (joined === undefined) throw new Unreachable('it has left')
        return joined.transport.send(request, signal)
      },
      close() {},
    }
  }

  async #open(req: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    const { directory, tokens } = this.#parts
    const { authorization, [instanceHeader]: id } = req.headers
    const token = bearerToken(authorization) ?? ''
    const principal = principalOf(await tokens.check(token))
    if (!isUuid(id)) {
      throw new ServiceError('body_invalid', `a link needs the header ${instanceHeader}`)
    }
    await directory.refresh()
    this.#check(id, principal)
    this.#handshake(req, socket, head, ws => this.#accept(ws, id, token, principal))
  }

  /** Throws when the user cannot join an instance with this id. */
  #check(id: string, { accountId }: Principal): void {
    const { entries } = this.#parts.directory
    if (entries.some(({ record }) => record.instance_id === id && !record.joined)) {
      const message = 'it runs on the machine of the gateway, which has it already'
      throw new ServiceError('request_refused', message)
    }
    const known = this.#joined.get(id)
    if (known?.principal.accountId === accountId) return
    if (known) throw new ServiceError('request_refused', 'its id is that of another user')
    const own = [...this.#joined.values()].filter(each => each.principal.accountId === accountId)
    if (own.length < maxInstances) return
    const message = `the user has ${maxInstances} instances, those with a lost link included`
    throw new ServiceError('overloaded', message)
  }

  #accept(ws: WebSocket, id: string, token: string, principal: Principal): void {
    const link = new Link(ws, text => this.#readRecord(joined, text))
    const joined: Joined = {
      id,
      principal,
      link,
      transport: new LinkTransport(link),
      record: null,
      lost: null,
      unwatch: this.#parts.tokens.watch(token, now => this.#tokenChanged(joined, now)),
      cancelGone: () => {},
    }
    const before = this.#joined.get(id)
    this.#joined.set(id, joined)
    before?.unwatch()
    before?.cancelGone()
    // An instance opens another link when it lost this one, which may not be known here yet.
    before?.link.close(joinCloseCodes.replaced, 'a newer link replaced it')
    void link.ended.then(({ code, reason }) => {
      if (code === joinCloseCodes.stopped) this.#gone(joined, 'it stopped')
      else this.#lose(joined, reason)
    })
  }

  #readRecord(joined: Joined, text: string): void {
    const { id, link, principal } = joined
    const { owner, team, name } = principal
    const facts = { instance_id: id, owner }
    const parsed = parseRecord(text, id)
    if (!parsed.ok) {
      this.#parts.log.warn({ ...facts, reason: parsed.failure }, 'an instance cannot join')
      return link.close(joinCloseCodes.recordRefused, parsed.failure)
    }
    const isFirst = joined.record === null
    joined.record = parsed.value
    this.#show(joined)
    if (!isFirst) return
    link.sendText(JSON.stringify({ owner, team, name } satisfies JoinAccepted))
    this.#parts.log.info(facts, 'an instance has joined')
    this.#endPredecessors(joined, parsed.value)
  }

  /** One that listens where the new one does now has ended: only one process has an address. */
  #endPredecessors({ principal }: Joined, { hostname, mcp_url }: InstanceRecord): void {
    for (const other of this.#joined.values()) {
      const isOwn = other.lost !== null && other.principal.accountId === principal.accountId
      if (!isOwn || other.record?.hostname !== hostname || other.record.mcp_url !== mcp_url)
        continue
      this.#gone(other, `another process has its address ${mcp_url}`)
    }
  }

  #tokenChanged(joined: Joined, now: CheckedToken): void {
    if (now.ok) {
      joined.principal = principalOf(now)
      this.#show(joined)
      // Links stay open while the accounts server is away.
    } else if (now.failure.kind === 'invalid') {
      this.#gone(joined, 'its token was revoked or has expired')
      joined.link.close(joinCloseCodes.tokenRefused, 'the token is not accepted any more')
    }
  }

  /** The instance is stale until it joins again, or is gone. */
  #lose(joined: Joined, reason: string): void {
    if (!this.#isKnown(joined)) return
    this.#parts.log.warn({ instance_id: joined.id, reason }, 'the link of an instance is lost')
    joined.lost = { reason, atMs: Date.now() }
    joined.cancelGone = systemTimer.after(joinLostMs, () => {
      this.#gone(joined, `its link was lost: ${reason}`)
    })
    this.#show(joined)
  }

  #gone(joined: Joined, reason: string): void {
    if (!this.#isKnown(joined)) return
    joined.unwatch()
    joined.cancelGone()
    this.#joined.delete(joined.id)
    const heartbeatMs = joined.lost?.atMs ?? Date.now()
    const ended = entryOf(joined, { health: 'dead', reason, heartbeatMs })
    this.#parts.directory.update([[joined.id, { ended }]])
  }

  #show(joined: Joined): void {
    const { lost } = joined
    const entry = entryOf(joined, {
      health: lost === null ? 'live' : 'stale',
      reason: lost === null ? 'its link is open' : `its link is lost: ${lost.reason}`,
      get heartbeatMs() {
        return lost?.atMs ?? Date.now()
      },
    })
    if (this.#isKnown(joined)) this.#parts.directory.update([[joined.id, { entry }]])
  }

  /** False once another link has replaced it, or the instance is gone. */
  #isKnown(joined: Joined): boolean {
    return this.#joined.get(joined.id) === joined
  }
}

/** What is listed; nothing before the first record. */
function entryOf({ record, principal }: Joined, verdict: Verdict) {
  if (record === null) return undefined
  const joined = { ...principal, visibility: record.visible_to ?? 'owner' }
  return { record: { ...record, joined }, verdict }
}

/** Throws for a token with which no instance joins. */
function principalOf(checked: CheckedToken): Principal {
  if (!checked.ok) {
    const { kind, reason } = checked.failure
    throw new ServiceError(kind === 'unavailable' ? 'overloaded' : 'auth_refused', reason)
  }
  const { id: accountId, username: owner, team, scopes, token } = checked.value
  if (token === null) throw new ServiceError('auth_refused', 'the token is not a service token')
  if (!scopes.includes('instance')) {
    const message = 'the token does not have the scope "instance"'
    throw new ServiceError('scope_insufficient', message)
  }
  return { accountId, owner, team, name: token.name }
}
