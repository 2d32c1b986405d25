import type { IncomingMessage } from 'node:http'
import { Unreachable } from '../../../lib/mcp/bridge/bridge-errors.ts'
import type { GatewayLimits } from '../../../lib/config/gateway-limits.ts'
import { ServiceError } from '../../../lib/util/errors.ts'
import { monotonicClock, type Timer } from '../../../lib/util/time.ts'
import type { Reader, RelayedContents, RelayedJson } from '../../resources/producer.ts'
import { badAnswer, ContentsScanner } from './contents-scanner.ts'
import { Flight } from './flight.ts'
import { outerUri } from './instance-uri.ts'
import { answeredError, errorIn, refusedError, unreachable } from './relay-errors.ts'
import type { Upstream } from './upstream.ts'

/** An answer up to this size is held, and shared by all who asked for it meanwhile. */
const maxHeldBytes = 256 * 1024
/** Reads of one instance at the same time. */
const maxOpenReads = 256

interface ReadsParts {
  readonly instanceId: string
  readonly upstream: Upstream
  readonly timer: Timer
  /** An application that is busy holds back its scene for some seconds. */
  readonly limits: Pick<GatewayLimits, 'instanceAnswerMs' | 'instanceSilenceMs'>
}

/** Held, or still coming: then one reader alone can take it. */
type Answer = string | { take(): RelayedJson | null }

/**
 * Reads resources of one instance. Readers of one URI share a request: those who come while it is
 * under way share the next one, because the resource may have changed since.
 */
export class InstanceReads {
  readonly #parts: ReadsParts
  /** URI at the gateway → the request under way, and the one that follows. */
  readonly #lanes = new Map<string, { current: Flight<Answer>; next: Flight<Answer> | null }>()
  /** Failures of an instance that did not answer in time. */
  readonly #silences = new WeakSet<object>()
  #open = 0
  #lastId = 0

  constructor(parts: ReadsParts) {
    this.#parts = parts
  }

  /** Rejects with a `ServiceError` for the reader. */
  async read(inner: string, outer: string, reader?: Reader): Promise<RelayedContents> {
    const flight = this.#flightFor(inner, outer)
    const release = flight.join(reader)
    const answer = await flight.answer
    if (typeof answer === 'string') {
      release()
      return answer
    }
    const taken = answer.take()
    if (taken !== null) return taken
    release()
    // Too large to share: every further reader asks for itself.
    const own = new Flight<Answer>(signal => this.#ask(inner, outer, signal))
    own.join(reader)
    const again = await own.answer
    const rest = typeof again === 'string' ? again : again.take()
    if (rest === null) throw new Error('an answer has two readers')
    return rest
  }

  #flightFor(inner: string, outer: string): Flight<Answer> {
    const ask = (signal: AbortSignal) => this.#ask(inner, outer, signal)
    const lane = this.#lanes.get(outer)
    if (lane === undefined) {
      const current = new Flight<Answer>(ask)
      this.#lanes.set(outer, { current, next: null })
      void current.landed.then(() => this.#landed(outer))
      return current
    }
    if (lane.next === null || lane.next.isAbandoned) {
      lane.next = new Flight<Answer>(async signal => {
        await lane.current.answer.catch((error: unknown) => this.#rethrowSilence(error))
        return ask(signal)
      })
    }
    return lane.next
  }

  #landed(outer: string): void {
    const lane = this.#lanes.get(outer)
    if (lane === undefined) return
    const { next } = lane
    if (next === null) {
      this.#lanes.delete(outer)
      return
    }
    this.#lanes.set(outer, { current: next, next: null })
    void next.landed.then(() => this.#landed(outer))
  }

  /** The next request would only wait as long. */
  #rethrowSilence(error: unknown): void {
    if (error instanceof Error && this.#silences.has(error)) throw error
  }

  async #ask(inner: string, outer: string, signal: AbortSignal): Promise<Answer> {
    if (this.#open >= maxOpenReads) {
      throw new ServiceError('limit_reached', `${maxOpenReads} reads of the instance are open`, {
        hint: 'try again later',
      })
    }
    this.#open++
    const done = () => void this.#open--
    const startedMs = monotonicClock.now()
    const { upstream, limits } = this.#parts
    try {
      const answerMs = limits.instanceAnswerMs
      const id = String(++this.#lastId)
      const answer = await upstream.ask(id, 'resources/read', { uri: inner }, { answerMs, signal })
      if (answer.statusCode !== 200) {
        upstream.refused(answer.statusCode)
        throw await refusedError(answer, outer)
      }
      const received = await this.#receive(answer, id, outer)
      if (typeof received === 'string') done()
      else answer.once('close', done)
      return received
    } catch (error) {
      done()
      if (!(error instanceof Unreachable)) throw error
      const failure = unreachable(error.message)
      if (monotonicClock.now() - startedMs >= limits.instanceAnswerMs) this.#silences.add(failure)
      throw failure
    }
  }

  /** Reads on until the answer is whole, or too large to be held. */
  async #receive(answer: IncomingMessage, id: string, outer: string): Promise<Answer> {
    const { instanceId, timer, limits } = this.#parts
    const silenceMs = limits.instanceSilenceMs
    const rename = (uri: string, isOwn: boolean) =>
      isOwn ? outer : (outerUri(instanceId, uri) ?? outer)
    const scanner = new ContentsScanner({ id, rename })
    const held: Buffer[] = []
    const raw: Buffer[] = []
    let bytes = 0
    const { promise, resolve, reject } = Promise.withResolvers<'whole' | 'large'>()
    const receive = (chunk: Buffer): void => {
      try {
        bytes += chunk.length
        if (scanner.push(chunk, held)) raw.length = 0
        else raw.push(chunk)
        if (bytes > maxHeldBytes) resolve('large')
      } catch (error) {
        reject(error)
      }
    }
    let isSettled = false
    // Called after every answer: an error is costly.
    const cut = () => isSettled || reject(unreachable('the connection was cut'))
    const late = timer.after(silenceMs, () => reject(unreachable('it stopped answering')))
    answer.on('data', receive)
    answer.once('end', () => {
      isSettled = true
      resolve('whole')
    })
    answer.once('error', cut)
    answer.once('close', cut)
    try {
      const outcome = await promise
      if (outcome === 'whole') {
        if (scanner.isError) throw answeredError(errorIn(Buffer.concat(raw)), outer)
        scanner.end()
        return checked(Buffer.concat(held).toString())
      }
      if (raw.length > 0) throw badAnswer('it has too much around its contents')
    } catch (error) {
      answer.destroy()
      throw error
    } finally {
      isSettled = true
      late()
      answer.off('data', receive)
    }
    answer.pause()
    return largeAnswer(answer, { scanner, held, timer, silenceMs })
  }
}

/** What is held can be looked at: a broken answer costs its readers alone. */
function checked(json: string): string {
  try {
    JSON.parse(json)
    return json
  } catch {
    throw badAnswer('it is not JSON')
  }
}

interface LargeParts {
  readonly scanner: ContentsScanner
  /** What came already. */
  readonly held: readonly Buffer[]
  readonly timer: Timer
  readonly silenceMs: number
}

/** The rest is read as fast as its one reader takes it. */
function largeAnswer(answer: IncomingMessage, parts: LargeParts): Answer {
  let isTaken = false
  // Its reader may have gone before it could be sent.
  const forget = parts.timer.after(parts.silenceMs, () => answer.destroy())
  return {
    take() {
      if (isTaken) return null
      isTaken = true
      return {
        open(cut) {
          forget()
          return rest(answer, parts, cut)
        },
      }
    },
  }
}

async function* rest(
  answer: IncomingMessage,
  { scanner, held, timer, silenceMs }: LargeParts,
  cut: () => void,
): AsyncGenerator<Uint8Array> {
  const pieces: Buffer[] = []
  const chunks = answer[Symbol.asyncIterator]()
  try {
    yield* held
    for (;;) {
      // Runs only while it is read on: a slow reader is no silent instance.
      const late = timer.after(silenceMs, () => answer.destroy())
      const next = await chunks.next().finally(late)
      if (next.done === true) break
      scanner.push(next.value as Buffer, pieces)
      yield* pieces.splice(0)
    }
    scanner.end()
  } catch {
    // Half of it is out: only a cut connection tells the reader that it is not whole.
    cut()
  } finally {
    answer.destroy()
  }
}
