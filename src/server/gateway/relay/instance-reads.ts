import { Unreachable } from '../../../lib/mcp/bridge/bridge-errors.ts'
import type { GatewayLimits } from '../../../lib/config/gateway-limits.ts'
import { ServiceError } from '../../../lib/util/errors.ts'
import type { Timer } from '../../../lib/util/time.ts'
import type { Reader, RelayedContents } from '../../resources/producer.ts'
import { Flight } from './flight.ts'
import { IncomingContents, type Received } from './incoming-contents.ts'
import { AnswerTimeout } from './read-link.ts'
import { unreachable } from './relay-errors.ts'
import type { Upstream } from './upstream.ts'

/** Reads of one instance at the same time. */
const maxOpenReads = 256
/** Besides these: a client that leaves large answers unread must not keep the others from reading. */
const maxLargeReads = 512

interface ReadsParts {
  readonly instanceId: string
  readonly upstream: Upstream
  readonly timer: Timer
  /** An application that is busy holds back its scene for some seconds. */
  readonly limits: Pick<GatewayLimits, 'instanceAnswerMs' | 'instanceSilenceMs'>
}

/**
 * Reads resources of one instance. Readers of one URI share a request: those who come while it is
 * under way share the next one, because the resource may have changed since.
 */
export class InstanceReads {
  readonly #parts: ReadsParts
  /** URI at the gateway → the request under way, and the one that follows. */
  readonly #lanes = new Map<string, { current: Flight<Received>; next: Flight<Received> | null }>()
  /** Failures of an instance that did not answer in time. */
  readonly #silences = new WeakSet<object>()
  #open = 0
  #large = 0
  #lastId = 0

  constructor(parts: ReadsParts) {
    this.#parts = parts
  }

  /** Rejects with a `ServiceError` for the reader. */
  async read(inner: string, outer: string, reader?: Reader): Promise<RelayedContents> {
    const flight = this.#flightFor(inner, outer)
    const joined = flight.join(reader)
    const answer = await flight.answer
    if (typeof answer === 'string') {
      joined.release()
      return answer
    }
    // One who has left would keep it from the others, and never send it.
    if (joined.hasLeft) throw new ServiceError('cancelled', 'the reader has left')
    const taken = answer.take()
    if (taken !== null) return taken
    joined.release()
    // Too large to share: every further reader asks for itself.
    const own = new Flight<Received>(flight => this.#ask(inner, outer, flight))
    own.join(reader)
    const again = await own.answer
    const rest = typeof again === 'string' ? again : again.take()
    if (rest === null) throw new Error('an answer has two readers')
    return rest
  }

  #flightFor(inner: string, outer: string): Flight<Received> {
    const ask = (flight: Flight<Received>) => this.#ask(inner, outer, flight)
    const lane = this.#lanes.get(outer)
    if (lane === undefined) {
      const current = new Flight<Received>(ask)
      this.#lanes.set(outer, { current, next: null })
      this.#whenLanded(current, outer)
      return current
    }
    if (lane.next === null || lane.next.isAbandoned) {
      lane.next = new Flight<Received>(async flight => {
        await lane.current.answer.catch((error: unknown) => this.#rethrowSilence(error))
        flight.throwIfAbandoned()
        return ask(flight)
      })
    }
    return lane.next
  }

  #whenLanded({ answer }: Flight<Received>, outer: string): void {
    const landed = (): void => {
      const next = this.#lanes.get(outer)?.next ?? null
      if (next === null) {
        this.#lanes.delete(outer)
        return
      }
      this.#lanes.set(outer, { current: next, next: null })
      this.#whenLanded(next, outer)
    }
    answer.then(landed, landed)
  }

  /** The next request would only wait as long. */
  #rethrowSilence(error: unknown): void {
    if (error instanceof Error && this.#silences.has(error)) throw error
  }

  async #ask(inner: string, outer: string, flight: Flight<Received>): Promise<Received> {
    if (this.#open >= maxOpenReads) throw limitReached(`${maxOpenReads} reads`)
    const { instanceId, upstream, timer, limits } = this.#parts
    const { instanceAnswerMs: answerMs, instanceSilenceMs: silenceMs } = limits
    const id = String(++this.#lastId)
    const contents = new IncomingContents({
      ...{ instanceId, id, outer, timer, silenceMs },
      refused: status => upstream.refused(status),
      becameLarge: () => {
        if (this.#large >= maxLargeReads) throw limitReached(`${maxLargeReads} large reads`)
        this.#large++
        this.#open--
      },
      closed: wasLarge => void (wasLarge ? this.#large-- : this.#open--),
    })
    this.#open++
    flight.onAbandoned(upstream.read(id, inner, { answerMs, silenceMs }, contents))
    try {
      return await contents.received
    } catch (error) {
      if (!(error instanceof Unreachable)) throw error
      const failure = unreachable(error.message)
      if (error instanceof AnswerTimeout) this.#silences.add(failure)
      throw failure
    }
  }
}

function limitReached(what: string): ServiceError {
  return new ServiceError('limit_reached', `${what} of the instance are open`, {
    hint: 'try again later',
  })
}
