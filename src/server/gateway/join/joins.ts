import type { Socket } from 'node:net'
import type { WebSocket } from 'ws'
import type { GatewayLimits } from '../../../lib/config/gateway-limits.ts'
import type { JoinLimits } from '../../../lib/config/join-limits.ts'
import { messageOf } from '../../../lib/util/errors.ts'
import type { Logger } from '../../../lib/util/logger.ts'
import { type Clock, pause, type Timer } from '../../../lib/util/time.ts'
import { LinkSocket } from '../../join/link-socket.ts'
import { acceptedPath, type JoinAccepted, joinCloseCodes, recordPath } from '../../join/wire.ts'
import { DirectoryNews, DirectoryView, nothing } from '../directory-view.ts'
import type { DirectoryRecord, InstanceChange, InstanceDirectory } from '../instance-directory.ts'
import type { InstanceTransport } from '../relay/instance-transport.ts'
import { unreachable } from '../relay/relay-errors.ts'
import { IdOwners } from './id-owners.ts'
import type { JoinPrincipal, JoinTokens } from './join-tokens.ts'
import { LinkClient } from './link-client.ts'
import { parseToldRecord, recordLines } from './record-lines.ts'

interface JoinsParts {
  /** Instances of this machine: their ids cannot be taken. */
  readonly local: Pick<InstanceDirectory, 'entries' | 'refresh'>
  readonly tokens: Pick<JoinTokens, 'watch'>
  readonly limits: GatewayLimits & JoinLimits
  readonly clock: Clock
  readonly timer: Timer
  readonly log: Logger
}

/** One link, before and after its record is known. */
interface Link {
  principal: JoinPrincipal
  readonly socket: LinkSocket
  readonly client: LinkClient
}

/** An instance that joined; its link may be lost. */
interface Joined {
  record: DirectoryRecord
  link: Link | null
  /** Why it has no link. */
  lost: string
  lastSeenMs: number
  cancelGone: () => void
}

const mcpUrl = new URL('http://instance/mcp')

/** The instances that joined this gateway over links, as a directory. */
export class Joins implements InstanceDirectory {
  readonly #parts: JoinsParts
  readonly #owners = new IdOwners()
  readonly #links = new Set<Link>()
  readonly #joined = new Map<string, Joined>()
  readonly #view = new DirectoryView(0)
  readonly #news: DirectoryNews
  readonly #linked = new Set<(instanceId: string) => void>()
  #isClosed = false

  constructor(parts: JoinsParts) {
    this.#parts = parts
    this.#news = new DirectoryNews(parts.log)
  }

  get entries() {
    return this.#view.entries
  }

  get faults() {
    return this.#view.faults
  }

  /** Links that are open. */
  get links(): number {
    return this.#links.size
  }

  onChange(listener: (changes: readonly InstanceChange[]) => void): () => void {
    return this.#news.add(listener)
  }

  /** Calls back when an instance has its link, or has it again. */
  onLinked(listener: (instanceId: string) => void): void {
    this.#linked.add(listener)
  }

  /** All that is known is told at once. */
  async refresh(): Promise<void> {}

  /** Why no further link of the principal is accepted; null: it is. */
  full({ accountId }: JoinPrincipal): string | null {
    const { maxJoinLinks, maxJoinsPerUser } = this.#parts.limits
    if (this.#links.size >= maxJoinLinks) return `${maxJoinLinks} links are open`
    const own = [...this.#links].filter(({ principal }) => principal.accountId === accountId)
    return own.length < maxJoinsPerUser ? null : `the user has ${maxJoinsPerUser} links`
  }

  /** To be called in the very event in which the link opens. */
  accept(ws: WebSocket, socket: Socket, token: string, principal: JoinPrincipal): void {
    const { limits, timer, tokens } = this.#parts
    const linkSocket = new LinkSocket(ws, socket, limits)
    const client = new LinkClient(linkSocket.stream, limits, timer)
    const link: Link = { principal, socket: linkSocket, client }
    this.#links.add(link)
    let refusal: string | null = null
    const unwatch = tokens.watch(token, now => {
      if (now.ok) return this.#rename(link, now.value)
      refusal = now.failure.reason
      linkSocket.close(joinCloseCodes.tokenRefused, 'the token is not accepted any more')
      // Nothing of it is shown from now on.
      this.#gone(link, 'its token was revoked or has expired')
    })
    const over = new AbortController()
    void linkSocket.ended.then(({ code, reason }) => {
      over.abort()
      unwatch()
      this.#links.delete(link)
      if (refusal !== null) return
      if (code === joinCloseCodes.stopped && !this.#isClosed) this.#gone(link, 'it stopped')
      else this.#lose(link, reason)
    })
    this.#follow(link, over.signal).catch((error: unknown) => {
      if (!over.signal.aborted) this.#refuse(link, messageOf(error))
    })
  }

  /** Null: no such instance has joined. */
  transportOf(instanceId: string): InstanceTransport | null {
    if (!this.#joined.has(instanceId)) return null
    const client = (): LinkClient => {
      const joined = this.#joined.get(instanceId)
      if (joined?.link) return joined.link.client
      throw unreachable(joined === undefined ? 'it has left' : `its link is lost: ${joined.lost}`)
    }
    return { url: mcpUrl, asker: client, reads: client, refused() {}, close() {} }
  }

  /** The gateway stops: tells the instances, which go to the next one. */
  endLinks(): void {
    this.#isClosed = true
    for (const { cancelGone } of this.#joined.values()) cancelGone()
    for (const { socket } of this.#links) {
      socket.close(joinCloseCodes.stopped, 'the gateway stops')
    }
  }

  async close(): Promise<void> {
    this.endLinks()
    this.#news.clear()
    this.#linked.clear()
    await Promise.all([...this.#links].map(({ socket }) => socket.ended))
  }

  /** Follows the record to the end of the link. */
  async #follow(link: Link, signal: AbortSignal): Promise<void> {
    const { limits, timer } = this.#parts
    const late = timer.after(limits.joinRecordMs, () => this.#refuse(link, 'it brings no record'))
    signal.addEventListener('abort', late)
    const url = new URL(recordPath, mcpUrl)
    const common = { headers: {}, repeatable: false, signal } as const
    const answer = await link.client.ask({
      ...{ ...common, url, method: 'GET', answerMs: limits.joinRecordMs },
    })
    let instanceId: string | null = null
    for await (const line of recordLines(answer, limits.maxRecordBytes)) {
      const told = parseToldRecord(line, link.principal, limits)
      if (!told.ok) return this.#refuse(link, told.failure)
      const record = told.value
      if (instanceId === null) {
        late()
        const refusal = await this.#whyNot(record.instanceId, link)
        if (signal.aborted) return
        if (refusal !== null) return this.#refuse(link, refusal)
        instanceId = record.instanceId
        await this.#begin(link, record, { ...common, url: new URL(acceptedPath, mcpUrl) })
      } else if (record.instanceId !== instanceId) {
        return this.#refuse(link, 'its record is of another instance')
      } else this.#change(link, record)
      // One that changes its record all the time is read slowly.
      await pause(timer, limits.recordGatherMs, signal)
    }
    this.#refuse(link, 'it has ended its record')
  }

  /** Why the instance cannot join by this link. */
  async #whyNot(instanceId: string, { principal }: Link): Promise<string | null> {
    const { local, limits } = this.#parts
    await local.refresh()
    const isLocal = local.entries.some(({ record }) => record.instanceId === instanceId)
    if (isLocal) return 'it runs on the machine of the gateway, which has it already'
    if (!this.#owners.claim(instanceId, principal.accountId))
      return 'its id is that of another user'
    const own = [...this.#joined].filter(
      ([id, { record }]) => id !== instanceId && record.joined?.accountId === principal.accountId,
    )
    if (own.length < limits.maxJoinsPerUser) return null
    return `the user has ${limits.maxJoinsPerUser} instances, those with a lost link included`
  }

  async #begin(
    link: Link,
    record: DirectoryRecord,
    to: Pick<Parameters<LinkClient['ask']>[0], 'url' | 'headers' | 'repeatable' | 'signal'>,
  ): Promise<void> {
    const { clock, limits, log } = this.#parts
    const { instanceId } = record
    const before = this.#joined.get(instanceId)
    before?.cancelGone()
    const { owner, team, name } = link.principal
    const fresh = { lost: '', lastSeenMs: clock.now(), cancelGone: () => {} }
    this.#joined.set(instanceId, { record, link, ...fresh })
    // The instance has opened another one: this end does not know yet that the first is dead.
    before?.link?.socket.close(joinCloseCodes.stopped, 'a newer link replaced it')
    this.#tell(instanceId)
    for (const listener of this.#linked) listener(instanceId)
    log.info({ instance_id: instanceId, owner }, 'an instance has joined')
    const body = JSON.stringify({ owner, team, name } satisfies JoinAccepted)
    const answer = await link.client.ask({
      ...{ ...to, method: 'POST', body, answerMs: limits.joinRecordMs },
    })
    answer.destroy()
  }

  /** The user has another name or team. */
  #rename(link: Link, principal: JoinPrincipal): void {
    link.principal = principal
    for (const [instanceId, joined] of this.#joined) {
      const as = joined.record.joined
      if (joined.link !== link || as === null) continue
      joined.record = { ...joined.record, joined: { ...as, ...principal } }
      this.#tell(instanceId)
    }
  }

  #change(link: Link, record: DirectoryRecord): void {
    const joined = this.#joined.get(record.instanceId)
    if (joined?.link !== link) return
    joined.record = record
    this.#tell(record.instanceId)
  }

  #refuse(link: Link, reason: string): void {
    const { owner } = link.principal
    this.#parts.log.warn({ owner, reason }, 'an instance cannot join')
    link.socket.close(joinCloseCodes.recordRefused, reason)
    this.#gone(link, reason)
  }

  /** Its link is cut: it is stale until it is back, or gone. */
  #lose(link: Link, reason: string): void {
    const { clock, limits, timer, log } = this.#parts
    for (const [instanceId, joined] of this.#joined) {
      if (joined.link !== link) continue
      Object.assign(joined, { link: null, lost: reason, lastSeenMs: clock.now() })
      log.warn({ instance_id: instanceId, reason }, 'the link of an instance is lost')
      if (this.#isClosed) continue
      joined.cancelGone = timer.after(limits.joinLostMs, () => {
        this.#remove(instanceId, `its link was lost: ${reason}`)
      })
      this.#tell(instanceId)
    }
  }

  #gone(link: Link, cause: string): void {
    for (const [instanceId, joined] of this.#joined) {
      if (joined.link === link) this.#remove(instanceId, cause)
    }
  }

  #remove(instanceId: string, cause: string): void {
    this.#joined.get(instanceId)?.cancelGone()
    const entry = this.#view.entryOf(instanceId)
    this.#joined.delete(instanceId)
    if (entry === null) return
    const verdict = { ...entry.verdict, health: 'dead', reason: cause } as const
    const dead = Object.freeze({ record: entry.record, verdict })
    this.#news.tell([
      ...this.#view.take(instanceId, { entry: dead, fault: null }),
      ...this.#view.take(instanceId, nothing),
    ])
  }

  #tell(instanceId: string): void {
    const joined = this.#joined.get(instanceId)
    if (joined === undefined) return
    const { clock } = this.#parts
    const { record, link, lost } = joined
    const verdict = Object.freeze({
      health: link === null ? ('stale' as const) : ('live' as const),
      reason: link === null ? `its link is lost: ${lost}` : 'its link is open',
      get heartbeatAgeMs() {
        return link === null ? clock.now() - joined.lastSeenMs : 0
      },
      get heartbeatMs() {
        return link === null ? joined.lastSeenMs : clock.now()
      },
    })
    const entry = Object.freeze({ record, verdict })
    this.#news.tell(this.#view.take(instanceId, { entry, fault: null }))
  }
}
