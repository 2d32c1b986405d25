import { isJsonObject } from '../../../lib/util/json.ts'
import type { Timer } from '../../../lib/util/time.ts'
import type { RelayedJson } from '../../resources/producer.ts'
import { badAnswer, ContentsScanner } from './contents-scanner.ts'
import { outerUri } from './instance-uri.ts'
import type { AnswerReceiver, Arriving } from './instance-transport.ts'
import { answeredError, errorIn, refusedError, unreachable } from './relay-errors.ts'

/** An answer up to this size is held, and shared by all who asked for it meanwhile. */
const maxHeldBytes = 256 * 1024
/** What is read of a refusal. */
const maxRefusalBytes = 64 * 1024

/** The contents as text, or as a stream that one reader can take. */
export type Received = string | { take(): RelayedJson | null }

interface ContentsParts {
  readonly instanceId: string
  /** Of the request. */
  readonly id: string
  /** What the readers asked for, at the gateway. */
  readonly outer: string
  readonly timer: Timer
  /** Longest time for a held answer to end, and for a large one to be taken. */
  readonly silenceMs: number
  /** The instance refuses the request. */
  readonly refused: (status: number) => void
  /** The answer is left to its one reader. Throws a `ServiceError` when too many are. */
  readonly becameLarge: () => void
  /** The answer is over, or will never come. */
  readonly closed: (wasLarge: boolean) => void
}

/** Receives the answer to one read, until it is whole or too large to be held. */
export class IncomingContents implements AnswerReceiver {
  /** Rejects with a `ServiceError`, an `Unreachable` when nothing came, or the reason of a cut. */
  readonly received: Promise<Received>
  readonly #parts: ContentsParts
  readonly #settle: PromiseWithResolvers<Received>
  readonly #scanner: ContentsScanner
  /** Contents that were not given on. */
  readonly #held: Buffer[] = []
  /** What came before the contents: an error is taken from it. */
  #raw: Buffer[] = []
  #bytes = 0
  #status = 200
  #arriving: Arriving | null = null
  #state: 'held' | 'large' | 'over' = 'held'
  #isLarge = false
  #failure: unknown = null
  #cancelTimer = () => {}
  /** The reader of a large answer waits for more. */
  #wake: (() => void) | null = null

  constructor(parts: ContentsParts) {
    this.#parts = parts
    this.#settle = Promise.withResolvers()
    this.received = this.#settle.promise
    this.#scanner = new ContentsScanner({
      id: parts.id,
      rename: (uri, isOwn) =>
        isOwn ? parts.outer : (outerUri(parts.instanceId, uri) ?? parts.outer),
    })
  }

  begun(status: number, _headers: unknown, arriving: Arriving): void {
    const { timer, silenceMs, refused } = this.#parts
    this.#arriving = arriving
    this.#status = status
    if (status !== 200) refused(status)
    this.#cancelTimer = timer.after(silenceMs, () => {
      if (status === 200) this.#fail(unreachable('it stopped answering'))
      else this.#refuse()
    })
  }

  data(chunk: Buffer): void {
    if (this.#state === 'over') return
    this.#bytes += chunk.length
    if (this.#status !== 200) {
      this.#raw.push(chunk)
      if (this.#bytes >= maxRefusalBytes) this.#refuse()
      return
    }
    try {
      if (this.#scanner.push(chunk, this.#held)) this.#raw = []
      else this.#raw.push(chunk)
      if (this.#state === 'held' && this.#bytes > maxHeldBytes) this.#becomeLarge()
    } catch (error) {
      return this.#fail(error)
    }
    if (this.#state === 'large') this.#arriving?.pause()
    this.#wake?.()
  }

  ended(): void {
    this.#close()
    if (this.#state === 'over') return
    if (this.#status !== 200) return this.#refuse()
    try {
      if (this.#scanner.isError) {
        throw answeredError(errorIn(Buffer.concat(this.#raw)), this.#parts.outer)
      }
      this.#scanner.end()
      if (this.#state === 'held') {
        this.#settle.resolve(checked(Buffer.concat(this.#held).toString()))
      }
      this.#over()
    } catch (error) {
      this.#fail(error)
    }
  }

  failed(reason: Error): void {
    this.#close()
    if (this.#state === 'held' && this.#status !== 200) this.#refuse()
    else this.#fail(reason)
  }

  #close(): void {
    this.#arriving = null
    this.#parts.closed(this.#isLarge)
  }

  #refuse(): void {
    const body = Buffer.concat(this.#raw)
    this.#fail(refusedError(this.#status, body, this.#parts.outer))
  }

  #fail(error: unknown): void {
    if (this.#state === 'over') return
    this.#failure = error
    this.#settle.reject(error)
    this.#over()
    this.#arriving?.cut(unreachable('its answer is not read on'))
  }

  #over(): void {
    this.#state = 'over'
    this.#cancelTimer()
    this.#wake?.()
  }

  #becomeLarge(): void {
    if (this.#raw.length > 0) throw badAnswer('it has too much around its contents')
    const { timer, silenceMs, becameLarge } = this.#parts
    becameLarge()
    this.#isLarge = true
    this.#state = 'large'
    this.#cancelTimer()
    // Its reader may have left before it could be sent.
    this.#cancelTimer = timer.after(silenceMs, () => this.#fail(unreachable('no reader takes it')))
    let isTaken = false
    this.#settle.resolve({
      take: () => {
        if (isTaken) return null
        isTaken = true
        return { open: cut => this.#rest(cut), discard: () => this.#leave() }
      },
    })
  }

  /** The rest is read as fast as its one reader takes it. */
  async *#rest(cut: () => void): AsyncGenerator<Uint8Array> {
    this.#cancelTimer()
    try {
      for (;;) {
        yield* this.#held.splice(0)
        if (this.#state === 'over') break
        await new Promise<void>(resolve => {
          this.#wake = resolve
          this.#arriving?.resume()
        })
      }
      if (this.#failure === null) return yield* this.#held.splice(0)
      // Half of it is out: only a cut connection tells the reader that it is not whole.
      cut()
    } finally {
      this.#leave()
    }
  }

  #leave(): void {
    this.#fail(unreachable('its reader has left'))
  }
}

/** What is held can be looked at: a broken answer costs its readers alone. */
function checked(json: string): string {
  let contents: unknown
  try {
    contents = JSON.parse(json)
  } catch {
    throw badAnswer('it is not JSON')
  }
  const isWhole = Array.isArray(contents) && contents.every(isContent)
  if (!isWhole) throw badAnswer('its contents have no URI')
  return json
}

function isContent(item: unknown): boolean {
  return isJsonObject(item) && typeof item.uri === 'string'
}
