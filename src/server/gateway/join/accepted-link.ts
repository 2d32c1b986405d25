import type { GatewayLimits } from '../limits.ts'
import { maxRecordBytes } from '../../../lib/instances/record.ts'
import type { Socket } from 'node:net'
import type { WebSocket } from 'ws'
import { Unreachable } from '../../../lib/mcp/bridge/bridge-errors.ts'
import type { HttpAnswer } from '../../../lib/mcp/bridge/http-link.ts'
import { messageOf } from '../../../lib/util/errors.ts'
import type { Logger } from '../../../lib/util/logger.ts'
import { pause, type Timer } from '../../../lib/util/time.ts'
import { type LinkEnd, LinkSocket } from '../../join/link-socket.ts'
import { acceptedPath, type JoinAccepted, joinCloseCodes, recordPath } from '../../join/wire.ts'
import type { InstanceDirectory } from '../instance-directory.ts'
import type { JoinPrincipal } from './join-tokens.ts'
import type { JoinedDirectory, Membership } from './joined-directory.ts'
import { LinkClient, linkUrl } from './link-client.ts'
import { recordLines } from './record-lines.ts'
import { parseToldRecord, type ToldRecord, withPrincipal } from './told-record.ts'

/** A new link must bring a valid record within this time. */
const joinRecordMs = 10_000

export interface AcceptedLinkParts {
  /** Instances of this machine: their ids cannot be taken. */
  readonly local: Pick<InstanceDirectory, 'entries' | 'refresh'>
  /** Where instances are listed once their record is known. */
  readonly directory: JoinedDirectory
  readonly limits: GatewayLimits
  readonly timer: Timer
  readonly log: Logger
  /** Called when an instance has come into the directory. */
  readonly joined: (instanceId: string) => void
}

/** One link, before and after its instance is in the directory. */
export class AcceptedLink {
  readonly #parts: AcceptedLinkParts
  readonly #socket: LinkSocket
  readonly #client: LinkClient
  readonly #ended = new AbortController()
  #principal: JoinPrincipal
  /** The newest record; null before the first one. */
  #told: ToldRecord | null = null
  /** Null while the instance is not in the directory. */
  #membership: Membership | null = null
  #isRevoked = false

  /** Create it in the event in which the WebSocket opens (see `LinkSocket`). */
  constructor(parts: AcceptedLinkParts, ws: WebSocket, socket: Socket, principal: JoinPrincipal) {
    const { limits, timer } = parts
    this.#parts = parts
    this.#socket = new LinkSocket(ws, socket, limits)
    this.#client = new LinkClient(this.#socket.stream, limits, timer)
    this.#principal = principal
    void this.ended.then(({ reason }) => this.#ended.abort(reason))
  }

  get accountId(): string {
    return this.#principal.accountId
  }

  get ended(): Promise<LinkEnd> {
    return this.#socket.ended
  }

  /** Reads the record and its changes until the link ends. */
  follow(): void {
    this.#readRecord().catch((error: unknown) => {
      if (this.#ended.signal.aborted) return
      // The instance is stale until it joins again, which it may do at once.
      if (error instanceof Unreachable) {
        this.#socket.close(joinCloseCodes.unavailable, error.message)
      } else this.#refuse(messageOf(error))
    })
  }

  /** The user has another name or team. */
  rename(principal: JoinPrincipal): void {
    this.#principal = principal
    if (this.#told !== null) this.#tell(withPrincipal(this.#told, principal))
  }

  /** The token was refused. */
  revoke(): void {
    this.#isRevoked = true
    this.#socket.close(joinCloseCodes.tokenRefused, 'the token is not accepted any more')
    // At once: the close may take seconds.
    this.#membership?.end(revoked)
  }

  stop(): void {
    this.#socket.close(joinCloseCodes.stopped, 'the gateway stops')
  }

  /** Call it after the end. Returns the id of an instance whose link is lost, null of any other. */
  leave({ code, reason }: LinkEnd): string | null {
    if (this.#isRevoked) this.#membership?.end(revoked)
    else if (code === joinCloseCodes.stopped) this.#membership?.end('it stopped')
    else if (this.#membership !== null) {
      this.#membership.lose(reason)
      return this.#told?.record.instanceId ?? null
    }
    return null
  }

  async #readRecord(): Promise<void> {
    const { limits, timer } = this.#parts
    const { signal } = this.#ended
    const cancelLate = timer.after(joinRecordMs, () => this.#refuse('it sent no record'))
    signal.addEventListener('abort', cancelLate)
    const answer = await this.#ask('GET', recordPath)
    let instanceId: string | null = null
    for await (const line of recordLines(answer, maxRecordBytes)) {
      const told = parseToldRecord(line.toString(), this.#principal)
      if (!told.ok) return this.#refuse(told.failure)
      const { record } = told.value
      if (instanceId === null) {
        cancelLate()
        instanceId = record.instanceId
        if (!(await this.#admit(told.value))) return
        const { owner, team, name } = this.#principal
        const accepted: JoinAccepted = { owner, team, name }
        const taken = await this.#ask('POST', acceptedPath, JSON.stringify(accepted))
        taken.destroy()
      } else if (record.instanceId !== instanceId) {
        return this.#refuse('its record is of another instance')
      } else this.#tell(told.value)
      // Bounds how often an instance changes its record.
      await pause(timer, limits.recordGatherMs, signal)
    }
    this.#refuse('it has ended its record')
  }

  #ask(method: 'GET' | 'POST', path: string, body?: string): Promise<HttpAnswer> {
    return this.#client.ask({
      method,
      url: new URL(path, linkUrl),
      headers: {},
      body,
      answerMs: joinRecordMs,
      signal: this.#ended.signal,
    })
  }

  /** Returns false when the link has ended, also because the instance cannot join. */
  async #admit(told: ToldRecord): Promise<boolean> {
    const { local, directory, log, joined } = this.#parts
    const { signal } = this.#ended
    const { instanceId } = told.record
    await local.refresh()
    if (signal.aborted) return false
    if (local.entries.some(({ record }) => record.instanceId === instanceId)) {
      this.#refuse('it runs on the machine of the gateway, which has it already')
      return false
    }
    // An instance opens another link when it lost this one, which may not be known here yet.
    const replaced = (): void => {
      this.#membership = null
      this.#socket.close(joinCloseCodes.replaced, 'a newer link replaced it')
    }
    // The user may have another name by now.
    const now = withPrincipal(told, this.#principal)
    this.#told = now
    const admitted = directory.admit({ told: now, client: this.#client, replaced })
    if (!admitted.ok) {
      this.#refuse(admitted.failure)
      return false
    }
    const lose = (reason: string): void => {
      log.warn({ instance_id: instanceId, reason }, 'the link of an instance is lost')
      admitted.value.lose(reason)
    }
    this.#membership = { ...admitted.value, lose }
    joined(instanceId)
    const { owner } = this.#principal
    log.info({ instance_id: instanceId, owner }, 'an instance has joined')
    return true
  }

  #tell(told: ToldRecord): void {
    this.#told = told
    this.#membership?.change(told)
  }

  #refuse(reason: string): void {
    const { owner } = this.#principal
    this.#parts.log.warn({ owner, reason }, 'an instance cannot join')
    this.#socket.close(joinCloseCodes.recordRefused, reason)
    this.#membership?.end(reason)
    this.#membership = null
  }
}

const revoked = 'its token was revoked or has expired'
