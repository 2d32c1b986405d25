import type { RequestListener } from 'node:http'
import type { Limits } from '../../lib/config/limits.ts'
import { messageOf } from '../../lib/util/errors.ts'
import type { Logger } from '../../lib/util/logger.ts'
import { type Clock, pause, retryDelay, type Timer, toRfc3339 } from '../../lib/util/time.ts'
import type { Gauge } from '../http/metrics.ts'
import { connectLink, type LinkOutcome } from './connect-link.ts'
import { createGatewayRequests, type FollowedRecord } from './gateway-requests.ts'
import { createLinkServer } from './link-server.ts'
import type { JoinSettings } from './join-settings.ts'
import type { JoinAccepted } from './wire.ts'

interface JoinerParts extends JoinSettings {
  readonly record: FollowedRecord
  /** What the instance serves. */
  readonly listener: RequestListener
  readonly limits: Limits
  readonly clock: Clock
  readonly timer: Timer
  readonly log: Logger
}

const joinStates = ['connecting', 'joined', 'lost', 'refused'] as const

/** The state of the link to the gateway, for `/readyz`. */
interface JoinFacts {
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

/** Keeps an instance joined to a gateway, and logs when it is not. */
export class Joiner {
  readonly #parts: JoinerParts
  readonly #stopping = new AbortController()
  readonly #running: Promise<void>
  readonly #answer: ReturnType<typeof createLinkServer>
  #state: JoinFacts['state'] = 'connecting'
  #sinceMs: number
  #logged = { reason: '', atMs: 0 }

  constructor(parts: JoinerParts) {
    this.#parts = parts
    this.#sinceMs = parts.clock.now()
    const accepted = (as: JoinAccepted): void => {
      this.#change('joined')
      const { gateway, log } = parts
      // The log redacts a member with the name `token`.
      const { owner, team, name } = as
      log.info({ gateway, owner, team, token_name: name }, 'joined the gateway')
    }
    const requests = createGatewayRequests({ ...parts, accepted, others: parts.listener })
    this.#answer = createLinkServer(requests, parts.limits)
    this.#running = this.#run()
  }

  get facts(): JoinFacts {
    return { state: this.#state, since: toRfc3339(this.#sinceMs) }
  }

  get gauges(): readonly Gauge[] {
    return [
      {
        name: 'service_cli_join',
        help: 'The link to the gateway that this instance joins: 1 for its state.',
        by: 'state',
        values: joinStates.map(label => ({ label, value: label === this.#state ? 1 : 0 })),
      },
    ]
  }

  /** Closes the link, and resolves when it has ended. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#running
  }

  async #run(): Promise<void> {
    const { clock, timer } = this.#parts
    const { signal } = this.#stopping
    for (let attempt = 0; !signal.aborted; attempt++) {
      const { isRefused, reason } = await this.#connect()
      if (signal.aborted) return
      const wasJoined = this.#state === 'joined'
      if (wasJoined && clock.now() - this.#sinceMs >= stableMs) attempt = 0
      this.#change(isRefused ? 'refused' : 'lost')
      const delayMs = isRefused ? refusedRetryMs : retryDelay(attempt, Math.random)
      this.#logEnd(reason, { isRefused, wasJoined })
      await pause(timer, delayMs, signal)
    }
  }

  async #connect(): Promise<LinkOutcome> {
    const { gateway, limits } = this.#parts
    try {
      const token = await this.#parts.token()
      const { signal } = this.#stopping
      return await connectLink({ gateway, token, limits, opened: this.#answer, signal })
    } catch (error) {
      return { isRefused: true, reason: messageOf(error) }
    }
  }

  #change(state: JoinFacts['state']): void {
    if (state !== this.#state) this.#sinceMs = this.#parts.clock.now()
    this.#state = state
  }

  #logEnd(
    reason: string,
    { isRefused, wasJoined }: { isRefused: boolean; wasJoined: boolean },
  ): void {
    const { gateway, clock, log } = this.#parts
    const now = clock.now()
    const isKnown = reason === this.#logged.reason && now - this.#logged.atMs < remindMs
    if (isKnown && !wasJoined) return
    this.#logged = { reason, atMs: now }
    if (isRefused) {
      const retry = `trying again every ${refusedRetryMs / 1000} s`
      log.error({ gateway, reason }, `the gateway does not accept this instance; ${retry}`)
    } else if (wasJoined) {
      log.warn({ gateway, reason }, 'the link to the gateway is lost; connecting again')
    } else log.warn({ gateway, reason }, 'the gateway cannot be joined; trying again')
  }
}
