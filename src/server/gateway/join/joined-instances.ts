import type { WebSocket } from 'ws'
import { parseRecord } from '../../../lib/instances/record.ts'
import { Unreachable } from '../../../lib/mcp/bridge/bridge-errors.ts'
import { ServiceError } from '../../../lib/util/errors.ts'
import type { Logger } from '../../../lib/util/logger.ts'
import { systemClock, systemTimer } from '../../../lib/util/time.ts'
import { Link } from '../../join/link.ts'
import { type JoinAccepted, joinCloseCodes } from '../../join/wire.ts'
import { DirectoryNews, DirectoryView, nothing } from '../directory-view.ts'
import type {
  DirectoryRecord,
  InstanceChange,
  InstanceDirectory,
  InstanceEntry,
  JoinedAs,
  RecordFault,
  Verdict,
} from '../instance-directory.ts'
import type { InstanceTransport } from '../relay/transport.ts'
import { shownRecord } from '../shown-record.ts'
import { LinkTransport } from './link-transport.ts'

/** An instance whose link is lost stays listed for this long. */
const joinLostMs = 5 * 60_000
/** Of the changes of a record within this time the last one is read. */
const recordGatherMs = 50
/** Of one user, those with a lost link included. */
const maxInstances = 50

/** The user and the token of a link. */
type JoinPrincipal = Omit<JoinedAs, 'visibility'>

/** An instance that asks for a link. */
export interface Joining {
  instanceId: string
  principal: JoinPrincipal
  /**
   * Calls back when the token is refused (null), or when its user has another name or team. Returns
   * the stop.
   */
  watch: (changed: (now: JoinPrincipal | null) => void) => () => void
}

interface Joined {
  principal: JoinPrincipal
  /** Null: it is lost. */
  link: Link | null
  transport: LinkTransport
  /** A record that has not been read yet. */
  unread: string | null
  /** Null before the first one. */
  record: DirectoryRecord | null
  /** Why and when the link was lost last. */
  lost: { reason: string; atMs: number }
  unwatch: () => void
  cancelGone: () => void
}

/** The instances that joined this gateway, and their links. */
export class JoinedInstances implements InstanceDirectory {
  /** An invalid record ends its link. */
  readonly faults: readonly RecordFault[] = []
  readonly #log: Logger
  readonly #view = new DirectoryView(0)
  readonly #news: DirectoryNews
  /** By the id of the instance. */
  readonly #joined = new Map<string, Joined>()

  constructor(log: Logger) {
    this.#log = log
    this.#news = new DirectoryNews(log)
  }

  get entries(): readonly InstanceEntry[] {
    return this.#view.entries
  }

  /** Links that are open. */
  get links(): number {
    return [...this.#joined.values()].filter(({ link }) => link !== null).length
  }

  onChange(listener: (changes: InstanceChange[]) => void): () => void {
    return this.#news.add(listener)
  }

  /** Does nothing: every change is told at once. */
  async refresh(): Promise<void> {}

  /** Tells the instances that the gateway stops, so that they join the next one. */
  async close(): Promise<void> {
    this.#news.clear()
    const joined = [...this.#joined.values()]
    this.#joined.clear()
    for (const { link, unwatch, cancelGone } of joined) {
      unwatch()
      cancelGone()
      link?.close(joinCloseCodes.stopped, 'the gateway stops')
    }
    await Promise.all(joined.map(({ link }) => link?.ended))
  }

  /** Throws when the user cannot join an instance with this id. */
  check({ instanceId, principal: { accountId } }: Joining): void {
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
    const link = new Link(ws, text => this.#received(instanceId, link, text))
    const known = this.#joined.get(instanceId)
    known?.unwatch()
    known?.cancelGone()
    this.#joined.set(instanceId, {
      principal,
      link,
      transport: new LinkTransport(link),
      unread: null,
      record: null,
      lost: { reason: '', atMs: 0 },
      unwatch: watch(now => this.#tokenChanged(instanceId, now)),
      cancelGone: () => {},
    })
    // An instance opens another link when it lost this one, which may not be known here yet.
    known?.link?.close(joinCloseCodes.replaced, 'a newer link replaced it')
    void link.ended.then(({ code, reason }) => {
      const joined = this.#joined.get(instanceId)
      if (joined?.link !== link) return
      joined.link = null
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
        const { link, transport, lost } = joined
        if (link === null) throw new Unreachable(`its link is lost: ${lost.reason}`)
        return transport.send(request, signal)
      },
      close() {},
    }
  }

  #received(instanceId: string, link: Link, text: string): void {
    const joined = this.#joined.get(instanceId)
    if (joined?.link !== link) return
    if (joined.unread === null) {
      const delayMs = joined.record === null ? 0 : recordGatherMs
      systemTimer.after(delayMs, () => this.#readRecord(instanceId, joined, link))
    }
    joined.unread = text
  }

  #readRecord(instanceId: string, joined: Joined, link: Link): void {
    const { unread, principal } = joined
    joined.unread = null
    if (this.#joined.get(instanceId)?.link !== link || unread === null) return
    const { owner, team, name } = principal
    const facts = { instance_id: instanceId, owner }
    const parsed = parseRecord(Buffer.from(unread), instanceId)
    if (!parsed.ok) {
      this.#log.warn({ ...facts, reason: parsed.failure }, 'an instance cannot join')
      return link.close(joinCloseCodes.recordRefused, parsed.failure)
    }
    if (joined.record === null) {
      link.sendText(JSON.stringify({ owner, team, name } satisfies JoinAccepted))
      this.#log.info(facts, 'an instance has joined')
    }
    joined.record = {
      ...shownRecord(parsed.value),
      // Addresses of another machine are neither shown nor called.
      mcpUrl: null,
      mcpUrlIsLoopback: false,
      localUrl: null,
      joined: { ...principal, visibility: parsed.value.visible_to ?? 'owner' },
    }
    this.#show(instanceId, joined)
  }

  #tokenChanged(instanceId: string, now: JoinPrincipal | null): void {
    const joined = this.#joined.get(instanceId)
    if (joined === undefined) return
    if (now === null) {
      this.#gone(instanceId, 'its token was revoked or has expired')
      return joined.link?.close(joinCloseCodes.tokenRefused, 'the token is not accepted any more')
    }
    joined.principal = now
    const { record } = joined
    if (record?.joined) joined.record = { ...record, joined: { ...record.joined, ...now } }
    this.#show(instanceId, joined)
  }

  /** The instance is stale until it joins again, or is gone. */
  #lose(instanceId: string, joined: Joined, reason: string): void {
    if (joined.record === null) return this.#gone(instanceId, reason)
    this.#log.warn({ instance_id: instanceId, reason }, 'the link of an instance is lost')
    joined.lost = { reason, atMs: systemClock.now() }
    joined.cancelGone = systemTimer.after(joinLostMs, () => {
      this.#gone(instanceId, `its link was lost: ${reason}`)
    })
    this.#show(instanceId, joined)
  }

  #gone(instanceId: string, cause: string): void {
    const joined = this.#joined.get(instanceId)
    joined?.unwatch()
    joined?.cancelGone()
    this.#joined.delete(instanceId)
    const changes = this.#view.take(instanceId, nothing).map((change): InstanceChange => {
      if (change.kind !== 'gone') return change
      const { record, verdict } = change.entry
      return {
        kind: 'gone',
        entry: { record, verdict: { ...verdict, health: 'dead', reason: cause } },
      }
    })
    this.#news.tell(changes)
  }

  #show(instanceId: string, { record, link, lost }: Joined): void {
    if (record === null) return
    const lastSeenMs = (): number => (link === null ? lost.atMs : systemClock.now())
    const verdict: Verdict = {
      health: link === null ? 'stale' : 'live',
      reason: link === null ? `its link is lost: ${lost.reason}` : 'its link is open',
      get heartbeatAgeMs() {
        return systemClock.now() - lastSeenMs()
      },
      get heartbeatMs() {
        return lastSeenMs()
      },
    }
    this.#news.tell(this.#view.take(instanceId, { entry: { record, verdict }, fault: null }))
  }
}
