import type { Socket } from 'node:net'
import type { WebSocket } from 'ws'
import type { GatewayLimits } from '../../../lib/config/gateway-limits.ts'
import type { JoinLimits } from '../../../lib/config/join-limits.ts'
import { Unreachable } from '../../../lib/mcp/bridge/bridge-errors.ts'
import { messageOf } from '../../../lib/util/errors.ts'
import type { Logger } from '../../../lib/util/logger.ts'
import { pause, type Timer } from '../../../lib/util/time.ts'
import { LinkSocket } from '../../join/link-socket.ts'
import { acceptedPath, type JoinAccepted, joinCloseCodes, recordPath } from '../../join/wire.ts'
import type { InstanceDirectory } from '../instance-directory.ts'
import type { JoinPrincipal, JoinTokens } from './join-tokens.ts'
import type { JoinedDirectory, Membership } from './joined-directory.ts'
import { LinkClient, linkUrl } from './link-client.ts'
import { recordLines } from './record-lines.ts'
import { parseToldRecord, type ToldRecord, withPrincipal } from './told-record.ts'

interface JoinsParts {
  /** Instances of this machine: their ids cannot be taken. */
  readonly local: Pick<InstanceDirectory, 'entries' | 'refresh'>
  /** Where instances are listed once their record is known. */
  readonly directory: JoinedDirectory
  readonly tokens: Pick<JoinTokens, 'watch'>
  readonly limits: GatewayLimits & JoinLimits
  readonly timer: Timer
  readonly log: Logger
}

/** One link, before and after its instance is in the directory. */
interface Link {
  principal: JoinPrincipal
  /** The newest record; null before the first one. */
  told: ToldRecord | null
  readonly socket: LinkSocket
  readonly client: LinkClient
  /** Null while the instance is not in the directory. */
  membership: Membership | null
  /** Settles once the directory has admitted or refused the instance. */
  admission: Promise<unknown>
}

/** The links that instances opened to this gateway. */
export class Joins {
  readonly #parts: JoinsParts
  readonly #links = new Set<Link>()
  /** By the id of an instance whose link is lost: ends the watch of its token. */
  readonly #lost = new Map<string, () => void>()
  #isClosed = false

  constructor(parts: JoinsParts) {
    this.#parts = parts
  }

  /** Links that are open. */
  get links(): number {
    return this.#links.size
  }

  /** Why no further link of the principal is accepted, as a clause; null when it is. */
  whyFull({ accountId }: JoinPrincipal): string | null {
    const { directory, limits } = this.#parts
    const { maxJoinLinks, maxJoinsPerUser } = limits
    if (directory.unavailable !== null) return directory.unavailable
    if (this.#links.size >= maxJoinLinks) return `${maxJoinLinks} links are open`
    const own = [...this.#links].filter(({ principal }) => principal.accountId === accountId)
    return own.length < maxJoinsPerUser ? null : `the user has ${maxJoinsPerUser} links`
  }

  /** Takes over a link. Call it in the event in which the WebSocket opens (see `LinkSocket`). */
  accept(ws: WebSocket, socket: Socket, token: string, principal: JoinPrincipal): void {
    const { limits, timer, tokens } = this.#parts
    const linkSocket = new LinkSocket(ws, socket, limits)
    const client = new LinkClient(linkSocket.stream, limits, timer)
    const link: Link = {
      ...{ principal, socket: linkSocket, client, told: null, membership: null },
      admission: Promise.resolve(),
    }
    this.#links.add(link)
    let isRefused = false
    const revoke = () => link.membership?.end('its token was revoked or has expired')
    const unwatch = tokens.watch(token, now => {
      if (now.ok) return this.#rename(link, now.value)
      isRefused = true
      linkSocket.close(joinCloseCodes.tokenRefused, 'the token is not accepted any more')
      // At once: the close may take seconds.
      revoke()
    })
    const ended = new AbortController()
    void linkSocket.ended.then(async ({ code, reason }) => {
      ended.abort(reason)
      this.#links.delete(link)
      // An instance that is admitted only now is lost or gone as any other.
      await link.admission.catch(() => {})
      const isLost = !this.#isClosed && !isRefused && code !== joinCloseCodes.stopped
      if (isLost && link.membership !== null) {
        link.membership.lose(reason)
        return this.#watchLost(link, unwatch)
      }
      unwatch()
      if (this.#isClosed) return
      if (isRefused) revoke()
      else link.membership?.end('it stopped')
    })
    this.#follow(link, ended.signal).catch((error: unknown) => {
      if (ended.signal.aborted) return
      // The instance is stale until it joins again, which it may do at once.
      if (error instanceof Unreachable) linkSocket.close(joinCloseCodes.unavailable, error.message)
      else this.#refuse(link, messageOf(error))
    })
  }

  /** Tells the instances that the gateway stops, so that they join the next one. */
  endLinks(): void {
    this.#isClosed = true
    for (const { socket } of this.#links) {
      socket.close(joinCloseCodes.stopped, 'the gateway stops')
    }
  }

  async close(): Promise<void> {
    this.endLinks()
    for (const stop of this.#lost.values()) stop()
    await Promise.all([...this.#links].map(({ socket }) => socket.ended))
  }

  /** Reads the record and its changes until the link ends. */
  async #follow(link: Link, signal: AbortSignal): Promise<void> {
    const { limits, timer } = this.#parts
    const cancelLate = timer.after(limits.joinRecordMs, () => {
      this.#refuse(link, 'it sent no record')
    })
    signal.addEventListener('abort', cancelLate)
    const common = { headers: {}, repeatable: false, signal } as const
    const answer = await link.client.ask({
      ...{ ...common, url: new URL(recordPath, linkUrl), method: 'GET' },
      answerMs: limits.joinRecordMs,
    })
    let instanceId: string | null = null
    for await (const line of recordLines(answer, limits.maxRecordBytes)) {
      const told = parseToldRecord(line.toString(), null, link.principal, limits)
      if (!told.ok) return this.#refuse(link, told.failure)
      const { record } = told.value
      if (instanceId === null) {
        cancelLate()
        instanceId = record.instanceId
        if (!(await this.#admit(link, told.value, signal))) return
        const { owner, team, name } = link.principal
        const body = JSON.stringify({ owner, team, name } satisfies JoinAccepted)
        const accepted = await link.client.ask({
          ...{ ...common, url: new URL(acceptedPath, linkUrl), method: 'POST', body },
          answerMs: limits.joinRecordMs,
        })
        accepted.destroy()
      } else if (record.instanceId !== instanceId) {
        return this.#refuse(link, 'its record is of another instance')
      } else this.#tell(link, told.value)
      // Bounds how often an instance changes its record.
      await pause(timer, limits.recordGatherMs, signal)
    }
    this.#refuse(link, 'it has ended its record')
  }

  /** Returns false when the link was closed, because the instance cannot join, or has ended. */
  async #admit(link: Link, told: ToldRecord, signal: AbortSignal): Promise<boolean> {
    const { local, directory, log } = this.#parts
    const { principal, client, socket } = link
    const { instanceId } = told.record
    link.told = told
    await local.refresh()
    if (signal.aborted) return false
    if (local.entries.some(({ record }) => record.instanceId === instanceId)) {
      this.#refuse(link, 'it runs on the machine of the gateway, which has it already')
      return false
    }
    // An instance opens another link when it lost this one, which may not be known here yet.
    const replaced = (): void => {
      link.membership = null
      socket.close(joinCloseCodes.stopped, 'a newer link replaced it')
    }
    let admitted
    try {
      const admission = directory.admit({ told, client, replaced })
      link.admission = admission
      admitted = await admission
    } catch (error) {
      log.warn(
        { instance_id: instanceId, reason: messageOf(error) },
        'an instance cannot join for now',
      )
      socket.close(joinCloseCodes.unavailable, directory.unavailable ?? 'try again later')
      return false
    }
    if (!admitted.ok) {
      if (!signal.aborted) this.#refuse(link, admitted.failure)
      return false
    }
    const lose = (reason: string): void => {
      log.warn({ instance_id: instanceId, reason }, 'the link of an instance is lost')
      admitted.value.lose(reason)
    }
    link.membership = { ...admitted.value, lose }
    this.#lost.get(instanceId)?.()
    if (link.told !== told) link.membership.change(link.told)
    log.info({ instance_id: instanceId, owner: principal.owner }, 'an instance has joined')
    return !signal.aborted
  }

  /** Watches the token of a lost link for as long as its instance is stale. */
  #watchLost({ told }: Link, unwatch: () => void): void {
    if (told === null) return unwatch()
    const { instanceId } = told.record
    const stop = (): void => {
      cancel()
      unwatch()
      this.#lost.delete(instanceId)
    }
    const { timer, limits } = this.#parts
    const cancel = timer.after(limits.joinLostMs, stop)
    this.#lost.get(instanceId)?.()
    this.#lost.set(instanceId, stop)
  }

  /** The user has another name or team. */
  #rename(link: Link, principal: JoinPrincipal): void {
    link.principal = principal
    if (link.told !== null) this.#tell(link, withPrincipal(link.told, principal))
  }

  #tell(link: Link, told: ToldRecord): void {
    link.told = told
    link.membership?.change(told)
  }

  #refuse(link: Link, reason: string): void {
    const { owner } = link.principal
    this.#parts.log.warn({ owner, reason }, 'an instance cannot join')
    link.socket.close(joinCloseCodes.recordRefused, reason)
    link.membership?.end(reason)
    link.membership = null
  }
}
