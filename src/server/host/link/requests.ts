import { withoutNulls } from '../../../lib/host-link/check.ts'
import type { ServerMessage } from '../../../lib/host-link/wire.ts'
import { onAbort } from '../../../lib/util/abort.ts'
import type { JsonObject } from '../../../lib/util/json.ts'
import type { Logger } from '../../../lib/util/logger.ts'
import { fail, ok, type Result } from '../../../lib/util/result.ts'
import type { CaptureFailure } from '../../capture/backend.ts'
import type { AppCaptureForm, AppPicture } from '../../capture/host-backend.ts'
import { ResourceNotFound, ResourceUriInvalid, applicationWords } from '../../resources/errors.ts'
import type { Content } from '../../resources/producer.ts'
import { contentForm } from '../../resources/producer-check.ts'
import type { HostLimits } from '../limits.ts'
import { hostFailure, type NoAnswer } from './failures.ts'
import { pictureFailure, pictureOf } from './pictures.ts'

/** Requests to the application that are open at once. */
export const maxInFlight = 8

/**
 * How long a reader waits for a scene that may be newer. An application that draws several slow
 * frames in a row answers between two of them.
 */
const refreshMs = 1500

/** Characters of what the application says in an error. */
const maxSaidChars = 255

/** An answer of the application. `png`: the picture that came with it. */
export interface Reply {
  readonly id: string
  /** Of an error. */
  readonly code: string | null
  readonly message: string
  /** All of it, as it came. */
  readonly members: JsonObject
  readonly png: Buffer | null
}

interface RequestsParts {
  /** False when the link is lost. */
  send(message: ServerMessage): boolean
  /** Whether the application says that its main thread is at work elsewhere. */
  isBusy(): boolean
  readonly limits: Pick<
    HostLimits,
    'linkReadMs' | 'linkListMs' | 'linkCaptureMs' | 'maxMessageBytes'
  >
  readonly log: Logger
}

type Outcome = Result<Reply, NoAnswer>

/** The requests of one connection. Each has exactly one outcome, by its deadline at the latest. */
export class Requests {
  readonly #parts: RequestsParts
  readonly #open = new Map<string, (outcome: Outcome) => void>()
  #lastId = 0
  #isPictured = false
  #isConnected = true

  constructor(parts: RequestsParts) {
    this.#parts = parts
  }

  /** Rejects with a `ServiceError` of a `resource_` code. */
  async read(uri: string, signal?: AbortSignal): Promise<readonly Content[]> {
    const deadline_ms = this.#parts.limits.linkReadMs
    const message = (id: string) => ({ type: 'read', id, uri, deadline_ms }) as const
    const outcome = await this.#ask(message, deadline_ms, signal)
    if (!outcome.ok) throw hostFailure(outcome.failure)
    const { code, message: said, members } = outcome.value
    if (code === null) {
      const contents = contentsOf(members['contents'])
      if (contents !== null) return contents
    }
    if (code === 'not_found') throw new ResourceNotFound(uri, said)
    if (code === 'invalid') {
      throw new ResourceUriInvalid(`the application refuses the URI${applicationWords(said)}`)
    }
    if (code === 'busy') throw hostFailure('host_busy', said)
    if (code === 'unsupported') throw hostFailure('host_failed', said)
    const trouble = code === null ? 'contents of the wrong form' : `${code}: ${said}`
    this.#parts.log.warn({ uri, trouble }, 'the application failed to answer a read')
    throw hostFailure('host_failed')
  }

  /** The `resources` of the answer as they came. Rejects with what went wrong. */
  async list(scheme: string): Promise<unknown> {
    const deadline_ms = this.#parts.limits.linkListMs
    const message = (id: string) => ({ type: 'list', id, scheme, deadline_ms }) as const
    const outcome = await this.#ask(message, deadline_ms)
    if (!outcome.ok) throw new Error(outcome.failure)
    const { code, message: said, members } = outcome.value
    if (code !== null) throw new Error(`${code}: ${said}`)
    return members['resources']
  }

  /** One picture at a time; never rejects. */
  async capture(form: AppCaptureForm): Promise<Result<AppPicture, CaptureFailure>> {
    if (this.#isPictured) return fail(pictureFailure('host_busy'))
    const { limits, log } = this.#parts
    const { signal, view: target, shot, maxWidth: max_width } = form
    const deadline_ms = limits.linkCaptureMs
    const max_bytes = Math.min(form.maxBytes, limits.maxMessageBytes)
    const bounds = { max_width, max_bytes, deadline_ms }
    const message = (id: string) =>
      ({ type: 'capture', id, target, ...(shot && { shot }), ...bounds }) as const
    this.#isPictured = true
    const outcome = await this.#ask(message, deadline_ms, signal)
    this.#isPictured = false
    const picture = pictureOf(outcome)
    if (picture.ok) return picture
    const { failure, trouble } = picture.failure
    if (trouble !== null) log.warn({ trouble }, 'the application failed to take a picture')
    return fail(failure)
  }

  /** False when the application did not say in time that the server has its scene as it is. */
  async refresh(): Promise<boolean> {
    if (this.#parts.isBusy()) return false
    const message = (id: string) => ({ type: 'refresh', id, deadline_ms: refreshMs }) as const
    const outcome = await this.#ask(message, refreshMs)
    return outcome.ok && outcome.value.code === null
  }

  /** Ends the request that is answered. A late or second answer changes nothing. */
  settle(members: JsonObject, png: Buffer | null): void {
    const { type, id, code, message } = members
    const said = typeof message === 'string' ? message.slice(0, maxSaidChars).toWellFormed() : ''
    const failed = typeof code === 'string' ? code.slice(0, maxSaidChars) : 'internal'
    const reply = { code: type === 'ok' ? null : failed, message: said, members, png }
    this.#open.get(String(id))?.(ok({ id: String(id), ...reply }))
  }

  /** The connection is lost: every request fails, those to come too. */
  disconnect(): void {
    this.#isConnected = false
    for (const settle of [...this.#open.values()]) settle(fail('host_disconnected'))
  }

  async #ask(
    message: (id: string) => ServerMessage,
    deadlineMs: number,
    signal?: AbortSignal,
  ): Promise<Outcome> {
    if (!this.#isConnected) return fail('host_disconnected')
    if (this.#open.size >= maxInFlight) return fail('host_busy')
    if (signal?.aborted === true) return fail('host_timeout')
    const id = `s${++this.#lastId}`
    const { promise, resolve } = Promise.withResolvers<Outcome>()
    const settle = (outcome: Outcome): void => {
      clearTimeout(timer)
      stay()
      this.#open.delete(id)
      resolve(outcome)
    }
    const giveUp = (reason: NoAnswer): void => {
      settle(fail(reason))
      this.#parts.send({ type: 'cancel', id })
    }
    const late = () => giveUp(this.#parts.isBusy() ? 'host_busy' : 'host_timeout')
    const timer = setTimeout(late, deadlineMs).unref()
    const stay = onAbort(signal, () => giveUp('host_timeout'))
    this.#open.set(id, settle)
    if (!this.#parts.send(message(id))) settle(fail('host_disconnected'))
    return promise
  }
}

/** Null for contents of the wrong form. */
function contentsOf(raw: unknown): readonly Content[] | null {
  if (!Array.isArray(raw)) return null
  const contents: Content[] = []
  for (const item of raw) {
    const { success, data } = contentForm.safeParse(withoutNulls(item))
    if (!success) return null
    contents.push(data as Content)
  }
  return contents
}
