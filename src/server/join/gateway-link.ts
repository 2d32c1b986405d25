import type { RequestListener } from 'node:http'
import type { Visibility } from '../../lib/instances/visibility.ts'
import { onAbort } from '../../lib/util/abort.ts'
import { messageOf, ServiceError } from '../../lib/util/errors.ts'
import { parseJson } from '../../lib/util/json.ts'
import type { Logger } from '../../lib/util/logger.ts'
import type { Secret } from '../../lib/util/secret.ts'
import { pause, retryDelay, systemClock, systemTimer, toRfc3339 } from '../../lib/util/time.ts'
import type { InstanceFile } from '../host/instance-record.ts'
import type { HttpLimits } from '../http/limits.ts'
import { connectLink } from './connect-link.ts'
import type { Link, LinkEnd } from './link.ts'
import { serveOnLink } from './link-server.ts'
import { joinAccepted, joinCloseCodes } from './wire.ts'

/** What all links of an instance have in common. */
export interface LinkParts {
  /** Reads the token, before each attempt. Rejects with a `ServiceError`. */
  token: () => Promise<Secret>
  visibleTo: Visibility
  /** The instance record, and its changes. */
  record: Pick<InstanceFile, 'record' | 'follow'>
  /** What the instance serves. */
  listener: RequestListener
  limits: Pick<HttpLimits, 'streamStallMs' | 'streamKeepAliveMs'>
  log: Logger
}

interface GatewayLinkParts extends LinkParts {
  /** The address of the gateway, http or https, without a slash at the end. */
  gateway: string
  /** One of the addresses of its name; null: whatever the name has at each attempt. */
  address: string | null
  /** Asked before each further attempt; false ends the attempts. */
  isWanted: () => Promise<boolean>
  /** Aborted when the instance stops. */
  signal: AbortSignal
}

/** The state of a link to a gateway, for `/readyz`. */
export interface JoinFacts {
  state: 'connecting' | 'joined' | 'lost' | 'refused'
  /** RFC 3339. */
  since: string
}

/** Pause after a refusal: an operator may have made a new token meanwhile. */
const refusedRetryMs = 60_000
/** Pauses grow to 2 s, less than a gateway waits for its instances after a restart. */
const maxDoublings = 3
/** A shorter link counts as a failed attempt, so that pauses grow. */
const stableMs = 10_000

/** Keeps a link to one address of a gateway, and logs when it is lost or back. */
export class GatewayLink {
  /** Resolves when the link has ended and is not wanted any more. */
  readonly ended: Promise<void>
  readonly #parts: GatewayLinkParts
  #state: JoinFacts['state'] = 'connecting'
  #sinceMs = systemClock.now()
  #loggedReason = ''

  constructor(parts: GatewayLinkParts) {
    this.#parts = parts
    this.ended = this.#run()
  }

  get facts(): JoinFacts {
    return { state: this.#state, since: toRfc3339(this.#sinceMs) }
  }

  async #run(): Promise<void> {
    const { signal, isWanted } = this.#parts
    for (let attempt = 0; !signal.aborted; attempt++) {
      const { code, reason } = await this.#connect()
      // Replaced: another link of this instance leads to the same gateway.
      if (signal.aborted || code === joinCloseCodes.replaced) return
      const wasJoined = this.#state === 'joined'
      if (wasJoined && systemClock.now() - this.#sinceMs >= stableMs) attempt = 0
      const isRefused = code === 'refused'
      const delayMs = isRefused
        ? refusedRetryMs
        : retryDelay(Math.min(attempt, maxDoublings), Math.random)
      if (wasJoined || reason !== this.#loggedReason) {
        const what = wasJoined ? 'the link to the gateway is lost' : 'the gateway cannot be joined'
        const next = isRefused ? `trying again every ${refusedRetryMs / 1000} s` : 'trying again'
        this.#log(isRefused ? 'error' : 'warn', { reason }, `${what}; ${next}`)
        this.#loggedReason = reason
      }
      this.#change(isRefused ? 'refused' : 'lost')
      await pause(systemTimer, delayMs, signal)
      if (!signal.aborted && !(await isWanted())) return
    }
  }

  /** Opens the link, and resolves when it has ended. Never rejects. */
  async #connect(): Promise<{ code: number | 'failed' | 'refused'; reason: string }> {
    const { gateway, address, record, signal } = this.#parts
    const received = (text: string): void => this.#received(text)
    const instanceId = record.record.instance_id
    try {
      const token = await this.#parts.token()
      const link = await connectLink({ gateway, address, token, instanceId, received, signal })
      return await this.#serveOn(link)
    } catch (error) {
      const isTemporary = error instanceof ServiceError && error.code === 'network_failed'
      return { code: isTemporary ? 'failed' : 'refused', reason: messageOf(error) }
    }
  }

  async #serveOn(link: Link): Promise<LinkEnd> {
    const { record, listener, limits, signal } = this.#parts
    serveOnLink(link, listener, limits)
    let sent = ''
    const sendRecord = (): void => {
      const text = this.#recordText()
      if (text !== sent) link.sendText(text)
      sent = text
    }
    sendRecord()
    const unfollow = record.follow(sendRecord)
    const stop = () => link.close(joinCloseCodes.stopped, 'the instance stops')
    const release = onAbort(signal, stop)
    const end = await link.ended
    release()
    unfollow()
    return end
  }

  #recordText(): string {
    const { record, visibleTo } = this.#parts
    // For programs of the same machine, such as the token for applications.
    const hidden = ['host_url', 'host_token_file', 'pid_start', 'gateways']
    const shown = Object.entries(record.record).filter(([name]) => !hidden.includes(name))
    return JSON.stringify({ ...Object.fromEntries(shown), visible_to: visibleTo })
  }

  #received(text: string): void {
    const message = parseJson(text, 4)
    const accepted = joinAccepted.safeParse(message.ok ? message.value : null)
    if (!accepted.success) return
    this.#change('joined')
    // The log redacts a member with the name `token`.
    const { owner, team, name } = accepted.data
    this.#log('info', { owner, team, token_name: name }, 'joined the gateway')
  }

  #change(state: JoinFacts['state']): void {
    if (state !== this.#state) this.#sinceMs = systemClock.now()
    this.#state = state
  }

  #log(level: 'info' | 'warn' | 'error', facts: object, message: string): void {
    const { gateway, address, log } = this.#parts
    log[level]({ gateway, address: address ?? undefined, ...facts }, message)
  }
}
