import type { JoinLimits } from './limits.ts'
import type { RequestListener } from 'node:http'
import { messageOf } from '../../lib/util/errors.ts'
import type { Logger } from '../../lib/util/logger.ts'
import { pause, retryDelay, systemClock, systemTimer, toRfc3339 } from '../../lib/util/time.ts'
import { connectLink, type LinkOutcome } from './connect-link.ts'
import { createGatewayRequests, type FollowedRecord } from './gateway-requests.ts'
import type { JoinSettings } from './join-settings.ts'
import { createLinkServer } from './link-server.ts'
import type { JoinAccepted } from './wire.ts'

/** What all links of an instance have in common. */
export interface LinkParts extends Omit<JoinSettings, 'gateways'> {
  readonly record: FollowedRecord
  /** What the instance serves. */
  readonly listener: RequestListener
  readonly limits: JoinLimits
  readonly log: Logger
}

interface GatewayLinkParts extends LinkParts {
  /** The address of the gateway, http or https, without a slash at the end. */
  readonly gateway: string
  /** One of the addresses of its name; null: whatever the name has at each attempt. */
  readonly address: string | null
  /** Asked before each further attempt; false ends the attempts. */
  readonly isWanted: () => Promise<boolean>
  /** Aborted when the instance stops. */
  readonly signal: AbortSignal
}

export const joinStates = ['connecting', 'joined', 'lost', 'refused'] as const

/** The state of a link to a gateway, for `/readyz`. */
export interface JoinFacts {
  readonly state: (typeof joinStates)[number]
  /** RFC 3339. */
  readonly since: string
}

/** Pause after a refusal: an operator may have made a new token meanwhile. */
const refusedRetryMs = 60_000
/** A shorter link counts as a failed attempt, so that pauses grow. */
const stableMs = 10_000
/** A reason that stays the same is logged once in this time. */
const remindMs = 10 * 60_000

/** Keeps a link to one address of a gateway, and logs when it is lost or back. */
export class GatewayLink {
  /** Resolves when the link has ended and is not wanted any more. */
  readonly ended: Promise<void>
  readonly #parts: GatewayLinkParts
  readonly #answer: ReturnType<typeof createLinkServer>
  #state: JoinFacts['state'] = 'connecting'
  #sinceMs: number
  #logged = { reason: '', atMs: 0 }

  constructor(parts: GatewayLinkParts) {
    this.#parts = parts
    this.#sinceMs = systemClock.now()
    const accepted = (as: JoinAccepted): void => {
      this.#change('joined')
      // The log redacts a member with the name `token`.
      const { owner, team, name } = as
      parts.log.info({ ...this.#place, owner, team, token_name: name }, 'joined the gateway')
    }
    const requests = createGatewayRequests({ ...parts, accepted, others: parts.listener })
    this.#answer = createLinkServer(requests, parts.limits)
    this.ended = this.#run()
  }

  get facts(): JoinFacts {
    return { state: this.#state, since: toRfc3339(this.#sinceMs) }
  }

  async #run(): Promise<void> {
    const { signal, isWanted, log } = this.#parts
    for (let attempt = 0; !signal.aborted; attempt++) {
      const { isRefused, isReplaced, reason } = await this.#connect()
      if (signal.aborted) return
      if (isReplaced) {
        log.info(this.#place, 'another link of this instance leads to the same gateway')
        return
      }
      const wasJoined = this.#state === 'joined'
      if (wasJoined && systemClock.now() - this.#sinceMs >= stableMs) attempt = 0
      this.#change(isRefused ? 'refused' : 'lost')
      const delayMs = isRefused ? refusedRetryMs : retryDelay(attempt, Math.random)
      this.#logEnd(reason, { isRefused, wasJoined })
      await pause(systemTimer, delayMs, signal)
      if (!signal.aborted && !(await isWanted())) return
    }
  }

  async #connect(): Promise<LinkOutcome> {
    const { gateway, address, limits, signal } = this.#parts
    try {
      const token = await this.#parts.token()
      return await connectLink({ gateway, address, token, limits, opened: this.#answer, signal })
    } catch (error) {
      return { isRefused: true, reason: messageOf(error) }
    }
  }

  /** For the log. */
  get #place() {
    const { gateway, address } = this.#parts
    return { gateway, address: address ?? undefined }
  }

  #change(state: JoinFacts['state']): void {
    if (state !== this.#state) this.#sinceMs = systemClock.now()
    this.#state = state
  }

  #logEnd(
    reason: string,
    { isRefused, wasJoined }: { isRefused: boolean; wasJoined: boolean },
  ): void {
    const { log } = this.#parts
    const now = systemClock.now()
    const isKnown = reason === this.#logged.reason && now - this.#logged.atMs < remindMs
    if (isKnown && !wasJoined) return
    this.#logged = { reason, atMs: now }
    const facts = { ...this.#place, reason }
    if (isRefused) {
      const retry = `trying again every ${refusedRetryMs / 1000} s`
      log.error(facts, `the gateway does not accept this instance; ${retry}`)
    } else if (wasJoined) {
      log.warn(facts, 'the link to the gateway is lost; connecting again')
    } else log.warn(facts, 'the gateway cannot be joined; trying again')
  }
}
