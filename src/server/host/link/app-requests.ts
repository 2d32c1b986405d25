import type { HostLimits } from '../limits.ts'
import { onAbort } from '../../../lib/util/abort.ts'
import type { ServerMessage } from '../../../lib/host-link/wire.ts'
import type { Logger } from '../../../lib/util/logger.ts'
import { fail, ok, type Result } from '../../../lib/util/result.ts'
import type { AppCaptureForm, AppPicture } from '../../capture/host-backend.ts'
import type { CaptureFailure } from '../../capture/backend.ts'
import type { Content } from '../../resources/producer.ts'
import type { Timer } from '../../../lib/util/time.ts'
import { type AppReply, describeError, readOutcome } from './app-answer.ts'
import { hostFailure, type HostReason } from './failures.ts'
import { pictureFailure, pictureOutcome } from './pictures.ts'

/** Questions to the application, as its schemes ask them. */
export interface AppQuestions {
  /** Rejects only with a `ServiceError` of a `resource_` code. `signal`: of the reader. */
  read(uri: string, signal?: AbortSignal): Promise<readonly Content[]>
  /** The `resources` of the answer as they came, or what went wrong; never rejects. */
  list(scheme: string): Promise<Result<unknown, string>>
}

/**
 * How long a reader waits for a scene that may be newer. An application that draws several slow
 * frames in a row answers between two of them; one that is busy with other work, not at all.
 */
const refreshMs = 1500
const busyRefreshMs = 250

interface AppRequestsParts {
  /** False when the link is lost. Must not throw; may call `disconnect` or `settle` at once. */
  send(message: ServerMessage): boolean
  /** Why a question that ran out of time did: `lateReason` with the link's newest heartbeat. */
  lateReason(): 'host_busy' | 'host_timeout'
  timer: Timer
  limits: Pick<
    HostLimits,
    | 'maxLinkRequests'
    | 'maxLinkSchemes'
    | 'linkReadMs'
    | 'linkListMs'
    | 'linkCaptureMs'
    | 'maxMessageBytes'
  >
  log: Logger
}

type Outcome = Result<AppReply, HostReason>
/** `png`: the bytes of a picture that came with the answer. */
type Settled = (outcome: Outcome, png: Buffer | null) => void

interface OpenQuestion {
  readonly cancelTimer: () => void
  readonly settled: Settled
}

/**
 * The questions of one connection: made with it, told of every answer (`settle`) and of its end
 * (`disconnect`). Each gets exactly one outcome, by the deadline at the latest.
 */
export class AppRequests implements AppQuestions {
  readonly #parts: AppRequestsParts
  readonly #open = new Map<string, OpenQuestion>()
  /** By URI: concurrent reads of one URI share one request and get the same answer. */
  readonly #reads = new Map<string, SharedRead>()
  /** Lists that exceeded the limit of open requests; they are sent as soon as one completes. */
  readonly #waitingLists: { ask(): void; giveUp(): void }[] = []
  #lastId = 0
  #isPictured = false
  #connected = true

  constructor(parts: AppRequestsParts) {
    this.#parts = parts
  }

  get open(): number {
    return this.#open.size
  }

  read(uri: string, signal?: AbortSignal): Promise<readonly Content[]> {
    const shared = this.#reads.get(uri)
    if (shared !== undefined) return shared.join(signal)
    if (!this.#connected) return Promise.reject(hostFailure('host_disconnected'))
    if (!this.#hasSpace()) return Promise.reject(hostFailure('host_busy'))
    const { limits, log } = this.#parts
    const { promise, resolve, reject } = Promise.withResolvers<readonly Content[]>()
    const deadline_ms = limits.linkReadMs
    const message = (id: string) => ({ type: 'read', id, uri, deadline_ms }) as const
    const read = new SharedRead(promise, () => this.#drop(id, 'host_timeout'))
    this.#reads.set(uri, read)
    const id = this.#ask(message, deadline_ms, outcome => {
      this.#reads.delete(uri)
      if (!outcome.ok) {
        reject(hostFailure(outcome.failure))
        return
      }
      const answer = readOutcome(uri, outcome.value)
      if (answer.ok) {
        resolve(answer.value)
        return
      }
      const { error, trouble } = answer.failure
      if (trouble !== null) log.warn({ uri, trouble }, 'the application failed to answer a read')
      reject(error)
    })
    return read.join(signal)
  }

  /** Waits while too many requests are open, where a read would fail. */
  list(scheme: string): Promise<Result<unknown, string>> {
    const { maxLinkSchemes, linkListMs: deadline_ms } = this.#parts.limits
    if (!this.#connected) return Promise.resolve(fail('host_disconnected'))
    const { promise, resolve } = Promise.withResolvers<Result<unknown, string>>()
    const message = (id: string) => ({ type: 'list', id, scheme, deadline_ms }) as const
    const ask = () => this.#ask(message, deadline_ms, outcome => resolve(listOutcome(outcome)))
    if (this.#hasSpace()) ask()
    else if (this.#waitingLists.length >= maxLinkSchemes) resolve(fail('host_busy'))
    else this.#waitingLists.push({ ask, giveUp: () => resolve(fail('host_disconnected')) })
    return promise
  }

  /** One picture at a time; never rejects. */
  capture(form: AppCaptureForm): Promise<Result<AppPicture, CaptureFailure>> {
    const { limits, log } = this.#parts
    const { signal, view: target } = form
    if (!this.#connected) return Promise.resolve(fail(pictureFailure('host_disconnected')))
    if (this.#isPictured || !this.#hasSpace()) {
      return Promise.resolve(fail(pictureFailure('host_busy')))
    }
    if (signal.aborted) return Promise.resolve(fail(pictureFailure('timeout')))
    this.#isPictured = true
    const { promise, resolve } = Promise.withResolvers<Result<AppPicture, CaptureFailure>>()
    const deadline_ms = limits.linkCaptureMs
    const bounds = {
      max_width: form.maxWidth,
      max_bytes: Math.min(form.maxBytes, limits.maxMessageBytes),
    }
    const { shot } = form
    const message = (id: string) =>
      ({ type: 'capture', id, target, ...(shot && { shot }), ...bounds, deadline_ms }) as const
    const leave = () => this.#drop(id, 'host_timeout')
    signal.addEventListener('abort', leave)
    const id = this.#ask(message, deadline_ms, (outcome, png) => {
      this.#isPictured = false
      signal.removeEventListener('abort', leave)
      const picture = pictureOutcome(outcome, png)
      if (picture.ok) return resolve(picture)
      const { failure, trouble } = picture.failure
      if (trouble !== null) log.warn({ trouble }, 'the application failed to take a picture')
      resolve(fail(failure))
    })
    return promise
  }

  /** False when the application did not say in time that the server has its scene as it is. */
  refresh(): Promise<boolean> {
    if (!this.#connected || !this.#hasSpace()) return Promise.resolve(false)
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const deadline_ms = this.#parts.lateReason() === 'host_busy' ? busyRefreshMs : refreshMs
    const message = (id: string) => ({ type: 'refresh', id, deadline_ms }) as const
    this.#ask(message, deadline_ms, outcome => resolve(outcome.ok && outcome.value.type === 'ok'))
    return promise
  }

  /** Completes the request that `reply` answers; false when no request waits for it (any more). */
  settle(reply: AppReply, png: Buffer | null = null): boolean {
    const question = this.#take(reply.id)
    if (question === undefined) return false
    this.#finish(question, ok(reply), png)
    return true
  }

  /** The connection is lost: every question fails, those to come too. */
  disconnect(): void {
    this.#connected = false
    for (const { giveUp } of this.#waitingLists.splice(0)) giveUp()
    for (const id of [...this.#open.keys()]) this.#fail(id, 'host_disconnected')
  }

  #ask(message: (id: string) => ServerMessage, deadlineMs: number, settled: Settled): string {
    const id = `s${++this.#lastId}`
    const cancelTimer = this.#parts.timer.after(deadlineMs, () =>
      this.#drop(id, this.#parts.lateReason()),
    )
    this.#open.set(id, { cancelTimer, settled })
    if (!this.#parts.send(message(id))) this.#fail(id, 'host_disconnected')
    return id
  }

  /** Gives a request up: it timed out, or its caller has left. */
  #drop(id: string, reason: HostReason): void {
    const question = this.#take(id)
    if (question === undefined) return
    // Before the next question goes out: the application counts those that are open.
    this.#parts.send({ type: 'cancel', id })
    this.#finish(question, fail(reason))
  }

  #fail(id: string, reason: HostReason): void {
    const question = this.#take(id)
    if (question !== undefined) this.#finish(question, fail(reason))
  }

  #take(id: string): OpenQuestion | undefined {
    const question = this.#open.get(id)
    this.#open.delete(id)
    return question
  }

  #finish(question: OpenQuestion, outcome: Outcome, png: Buffer | null = null): void {
    question.cancelTimer()
    question.settled(outcome, png)
    if (this.#hasSpace()) this.#waitingLists.shift()?.ask()
  }

  #hasSpace(): boolean {
    return this.#open.size < this.#parts.limits.maxLinkRequests
  }
}

function listOutcome(outcome: Outcome): Result<unknown, string> {
  if (!outcome.ok) return outcome
  const reply = outcome.value
  return reply.type === 'ok' ? ok(reply['resources']) : fail(describeError(reply))
}

/**
 * One question for all who read the same URI meanwhile; given up when the last of them has left.
 */
class SharedRead {
  readonly #answer: Promise<readonly Content[]>
  readonly #giveUp: () => void
  #waiting = 0

  constructor(answer: Promise<readonly Content[]>, giveUp: () => void) {
    this.#answer = answer
    this.#giveUp = giveUp
  }

  /** Without a signal the caller waits until the end. */
  join(signal: AbortSignal | undefined): Promise<readonly Content[]> {
    this.#waiting++
    if (signal === undefined) return this.#answer
    const stay = onAbort(signal, () => {
      if (--this.#waiting === 0) this.#giveUp()
    })
    this.#answer.then(stay, stay)
    return this.#answer
  }
}
