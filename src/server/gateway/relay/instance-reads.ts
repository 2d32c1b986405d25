import type { GatewayLimits } from '../limits.ts'
import { Unreachable } from '../../../lib/mcp/bridge/bridge-errors.ts'
import { onAbort } from '../../../lib/util/abort.ts'
import { ServiceError } from '../../../lib/util/errors.ts'
import type { Timer } from '../../../lib/util/time.ts'
import type { Reader, RelayedContents } from '../../resources/producer.ts'
import { IncomingContents, type Received } from './incoming-contents.ts'
import { AnswerTimeout } from './read-link.ts'
import { unreachable } from './relay-errors.ts'
import type { Upstream } from './upstream.ts'

/**
 * Answers of one instance at the same time, of all callers. A client that leaves large ones unread
 * must not keep the others from reading: they may be fewer than `all`.
 */
export interface ReadBounds {
  readonly all: number
  readonly large: number
}

/** At an address, where each answer has its own connection. */
export const addressBounds: ReadBounds = { all: 768, large: 512 }
/** A link refuses requests when about 130 large answers are not read. */
export const linkBounds: ReadBounds = { all: 120, large: 100 }

interface ReadsParts {
  readonly instanceId: string
  readonly upstream: Upstream
  readonly timer: Timer
  readonly bounds: ReadBounds
  /** An application that is busy holds back its scene for some seconds. */
  readonly limits: Pick<GatewayLimits, 'instanceAnswerMs' | 'instanceSilenceMs'>
}

/**
 * Reads resources of one instance. Readers of one URI share a request. Those that arrive while it is
 * open share the next one, because the resource may have changed since.
 */
export class InstanceReads {
  readonly #parts: ReadsParts
  /** URI at the gateway → the open request, and the one that follows it. */
  readonly #reads = new Map<string, { current: SharedRead; next: SharedRead | null }>()
  /** Failures of an instance that did not answer in time. */
  readonly #timeouts = new WeakSet<object>()
  /** Answers that are under way, and those of them that are not held here. */
  #open = 0
  #large = 0
  #lastId = 0

  constructor(parts: ReadsParts) {
    this.#parts = parts
  }

  /** Rejects with a `ServiceError` for the reader. */
  async read(inner: string, outer: string, reader?: Reader): Promise<RelayedContents> {
    const shared = this.#sharedRead(inner, outer)
    const joined = shared.join(reader)
    const answer = await shared.answer
    if (typeof answer === 'string') {
      joined.release()
      return answer
    }
    // A reader that has left would take the answer from the others and send it to no client.
    if (joined.hasLeft) throw new ServiceError('cancelled', 'the reader has left')
    const taken = answer.take()
    if (taken !== null) return taken
    joined.release()
    // Too large to share: every further reader asks for itself.
    const own = new SharedRead(shared => this.#ask(inner, outer, shared))
    own.join(reader)
    const again = await own.answer
    const rest = typeof again === 'string' ? again : again.take()
    if (rest === null) throw new Error('an answer has two readers')
    return rest
  }

  /** Runs a download, which counts as a large read. */
  async download<Answer>(run: () => Promise<Answer>): Promise<Answer> {
    this.#assertFree()
    this.#assertFree('large')
    this.#open++
    this.#large++
    try {
      return await run()
    } finally {
      this.#open--
      this.#large--
    }
  }

  #assertFree(kind: keyof ReadBounds = 'all'): void {
    const most = this.#parts.bounds[kind]
    if ((kind === 'all' ? this.#open : this.#large) < most) return
    const what = kind === 'all' ? 'reads' : 'large reads'
    throw new ServiceError('overloaded', `${most} ${what} of the instance are open`, {
      hint: 'try again later',
    })
  }

  #sharedRead(inner: string, outer: string): SharedRead {
    const ask = (shared: SharedRead) => this.#ask(inner, outer, shared)
    const known = this.#reads.get(outer)
    if (known === undefined) {
      const current = new SharedRead(ask)
      this.#reads.set(outer, { current, next: null })
      this.#continueAfter(current, outer)
      return current
    }
    if (known.next === null || known.next.isAbandoned) {
      known.next = new SharedRead(async shared => {
        await known.current.answer.catch((error: unknown) => this.#rethrowTimeout(error))
        shared.throwIfAbandoned()
        return ask(shared)
      })
    }
    return known.next
  }

  #continueAfter({ answer }: SharedRead, outer: string): void {
    const settled = (): void => {
      const next = this.#reads.get(outer)?.next ?? null
      if (next === null) {
        this.#reads.delete(outer)
        return
      }
      this.#reads.set(outer, { current: next, next: null })
      this.#continueAfter(next, outer)
    }
    answer.then(settled, settled)
  }

  /** The next request would only wait as long. */
  #rethrowTimeout(error: unknown): void {
    if (error instanceof Error && this.#timeouts.has(error)) throw error
  }

  async #ask(inner: string, outer: string, shared: SharedRead): Promise<Received> {
    this.#assertFree()
    const { instanceId, upstream, timer, limits } = this.#parts
    const { instanceAnswerMs: answerMs, instanceSilenceMs: silenceMs } = limits
    const id = String(++this.#lastId)
    const contents = new IncomingContents({
      instanceId,
      id,
      outer,
      timer,
      silenceMs,
      refused: status => upstream.refused(status),
      becameLarge: () => {
        this.#assertFree('large')
        this.#large++
      },
      closed: wasLarge => {
        this.#open--
        if (wasLarge) this.#large--
      },
    })
    this.#open++
    shared.onAbandoned(upstream.read(id, inner, { answerMs, silenceMs }, contents))
    try {
      return await contents.received
    } catch (error) {
      if (!(error instanceof Unreachable)) throw error
      const failure = unreachable(error.message)
      if (error instanceof AnswerTimeout) this.#timeouts.add(failure)
      throw failure
    }
  }
}

/** One reader of a shared read. */
interface Joined {
  readonly hasLeft: boolean
  /** It has its answer. */
  release(): void
}

/** One request with the readers that wait for it. It is cancelled when the last of them has left. */
class SharedRead {
  readonly answer: Promise<Received>
  #readers = 0
  #reason: ServiceError | null = null
  #cancel: ((reason: ServiceError) => void) | null = null

  constructor(ask: (read: SharedRead) => Promise<Received>) {
    this.answer = ask(this)
  }

  /** True once all readers have left; the request fails then. */
  get isAbandoned(): boolean {
    return this.#reason !== null
  }

  throwIfAbandoned(): void {
    if (this.#reason !== null) throw this.#reason
  }

  /** Calls `cancel` once all readers have left; at once when they already have. */
  onAbandoned(cancel: (reason: ServiceError) => void): void {
    this.#cancel = cancel
    if (this.#reason !== null) cancel(this.#reason)
  }

  join(reader: Reader | undefined): Joined {
    let hasLeft = false
    this.#readers++
    const stopWatching = onAbort(reader?.signal, () => {
      hasLeft = true
      if (--this.#readers > 0) return
      this.#reason = new ServiceError('cancelled', 'every reader has left')
      this.#cancel?.(this.#reason)
    })
    return {
      get hasLeft() {
        return hasLeft
      },
      release: () => {
        stopWatching()
        if (!hasLeft) this.#readers--
      },
    }
  }
}
