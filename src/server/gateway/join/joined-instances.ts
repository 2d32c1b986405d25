import type { WebSocket } from 'ws'
import { type JoinAccepted, joinCloseCodes } from '../../../lib/instances/join-wire.ts'
import { parseRecord } from '../../../lib/instances/record.ts'
import { Unreachable } from '../../../lib/mcp/bridge/bridge-errors.ts'
import { ServiceError } from '../../../lib/util/errors.ts'
import type { Logger } from '../../../lib/util/logger.ts'
import { systemTimer } from '../../../lib/util/time.ts'
import { Link } from '../../join/link.ts'
import type { DirectoryRecord, JoinedAs, Verdict } from '../instance-directory.ts'
import type { LocalDirectory } from '../local-directory.ts'
import type { InstanceTransport } from '../relay/transport.ts'
import { shownRecord } from '../shown-record.ts'
import { LinkTransport } from './link-transport.ts'

/** An instance whose link is lost stays listed for this long. */
const joinLostMs = 5 * 60_000
/** Of one user, those with a lost link included. */
const maxInstances = 50

/** An instance that asks for a link. */
export interface Joining {
  instanceId: string
  /** The user and the token. */
  principal: Omit<JoinedAs, 'visibility'>
  /**
   * Calls back when the token is refused (null), or when its user has another name or team. Returns
   * the stop.
   */
  watch: (changed: (now: Joining['principal'] | null) => void) => () => void
}

/** An instance with its newest link; it stays known while that is lost. */
interface Joined {
  principal: Joining['principal']
  link: Link
  transport: LinkTransport
  /** Null before the first one. */
  record: DirectoryRecord | null
  /** Null while the link is open. */
  lost: { reason: string; atMs: number } | null
  unwatch: () => void
  cancelGone: () => void
}

/** The instances that joined this gateway, and their links. */
export class JoinedInstances {
  /** Where instances are listed once their record is known. */
  readonly directory: LocalDirectory
  readonly #log: Logger
  /** By the id of the instance. */
  readonly #joined = new Map<string, Joined>()

  constructor(directory: LocalDirectory, log: Logger) {
    this.directory = directory
    this.#log = log
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

  /** Throws when the user cannot join an instance with this id. */
  check({ instanceId, principal: { accountId } }: Joining): void {
    const { entries } = this.directory
    if (entries.some(({ record }) => record.instanceId === instanceId && record.joined === null)) {
      const message = 'it runs on the machine of the gateway, which has it already'
      throw new ServiceError('request_refused', message)
    }
    const known = this.#joined.get(instanceId)
    if (known?.principal.accountId === accountId) return
    if (known) throw new ServiceError('request_refused', 'its id is that of another user')
    const own = [...this.#joined.values()].filter(each => each.principal.accountId === accountId)
    if (own.length < maxInstances) return
    const message = `the user has ${maxInstances} instances, those with a lost link included`
    throw new ServiceError('overloaded', message)
  }

  /** Takes over a link. Call it in the event in which the WebSocket opens, and at once after `check`. */
  accept(ws: WebSocket, { instanceId, principal, watch }: Joining): void {
    const link = new Link(ws, text => this.#readRecord(instanceId, joined, text))
    const joined: Joined = {
      principal,
      link,
      transport: new LinkTransport(link),
      record: null,
      lost: null,
      unwatch: watch(now => this.#tokenChanged(instanceId, joined, now)),
      cancelGone: () => {},
    }
    const before = this.#joined.get(instanceId)
    this.#joined.set(instanceId, joined)
    before?.unwatch()
    before?.cancelGone()
    // An instance opens another link when it lost this one, which may not be known here yet.
    before?.link.close(joinCloseCodes.replaced, 'a newer link replaced it')
    void link.ended.then(({ code, reason }) => {
      if (this.#joined.get(instanceId) !== joined) return
      if (code === joinCloseCodes.stopped) this.#gone(instanceId, 'it stopped')
      else this.#lose(instanceId, joined, reason)
    })
  }

  /** Null: no such instance has joined. */
  transportOf(instanceId: string): InstanceTransport | null {
    if (!this.#joined.has(instanceId)) return null
    return {
      send: async (request, signal) => {
        const joined = this.#joined.get(instanceId)
        if (joined === undefined) throw new Unreachable('it has left')
        const { transport, lost } = joined
        if (lost !== null) throw new Unreachable(`its link is lost: ${lost.reason}`)
        return transport.send(request, signal)
      },
      close() {},
    }
  }

  #readRecord(instanceId: string, joined: Joined, text: string): void {
    if (this.#joined.get(instanceId) !== joined) return
    const { link, principal } = joined
    const { owner, team, name } = principal
    const facts = { instance_id: instanceId, owner }
    const parsed = parseRecord(Buffer.from(text), instanceId)
    if (!parsed.ok) {
      this.#log.warn({ ...facts, reason: parsed.failure }, 'an instance cannot join')
      return link.close(joinCloseCodes.recordRefused, parsed.failure)
    }
    const isFirst = joined.record === null
    joined.record = {
      ...shownRecord(parsed.value),
      // Addresses of another machine are neither shown nor called.
      mcpUrl: null,
      localUrl: null,
      joined: { ...principal, visibility: parsed.value.visible_to ?? 'owner' },
    }
    this.#show(instanceId, joined)
    if (!isFirst) return
    link.sendText(JSON.stringify({ owner, team, name } satisfies JoinAccepted))
    this.#log.info(facts, 'an instance has joined')
  }

  #tokenChanged(instanceId: string, joined: Joined, now: Joining['principal'] | null): void {
    if (now === null) {
      this.#gone(instanceId, 'its token was revoked or has expired')
      return joined.link.close(joinCloseCodes.tokenRefused, 'the token is not accepted any more')
    }
    joined.principal = now
    const { record } = joined
    if (record?.joined) joined.record = { ...record, joined: { ...record.joined, ...now } }
    this.#show(instanceId, joined)
  }

  /** The instance is stale until it joins again, or is gone. */
  #lose(instanceId: string, joined: Joined, reason: string): void {
    this.#log.warn({ instance_id: instanceId, reason }, 'the link of an instance is lost')
    joined.lost = { reason, atMs: Date.now() }
    joined.cancelGone = systemTimer.after(joinLostMs, () => {
      this.#gone(instanceId, `its link was lost: ${reason}`)
    })
    this.#show(instanceId, joined)
  }

  #gone(instanceId: string, cause: string): void {
    const joined = this.#joined.get(instanceId)
    if (joined === undefined) return
    joined.unwatch()
    joined.cancelGone()
    this.#joined.delete(instanceId)
    const { record, lost } = joined
    const heartbeatMs = lost?.atMs ?? Date.now()
    const verdict = { health: 'dead', reason: cause, heartbeatMs } as const
    this.directory.update([[instanceId, record === null ? {} : { ended: { record, verdict } }]])
  }

  #show(instanceId: string, { record, lost }: Joined): void {
    if (record === null) return
    const verdict: Verdict = {
      health: lost === null ? 'live' : 'stale',
      reason: lost === null ? 'its link is open' : `its link is lost: ${lost.reason}`,
      get heartbeatMs() {
        return lost?.atMs ?? Date.now()
      },
    }
    this.directory.update([[instanceId, { entry: { record, verdict } }]])
  }
}
