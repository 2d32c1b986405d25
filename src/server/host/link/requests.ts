import { z } from 'zod'
import { withoutNulls } from '../../../lib/host-link/check.ts'
import type { ServerMessage } from '../../../lib/host-link/wire.ts'
import { onAbort } from '../../../lib/util/abort.ts'
import { ServiceError } from '../../../lib/util/errors.ts'
import { isJsonObject, type JsonObject } from '../../../lib/util/json.ts'
import { fail, ok, type Result } from '../../../lib/util/result.ts'
import type { Capture, CaptureFailure } from '../../capture/backend.ts'
import type { AppCaptureForm } from '../../capture/host-backend.ts'
import { ResourceNotFound, ResourceUriInvalid, applicationWords } from '../../resources/errors.ts'
import type { Content } from '../../resources/producer.ts'
import { contentForm } from '../../resources/producer-check.ts'
import type { Channel } from './channel.ts'
import { hostFailure } from './failures.ts'
import { pictureFailure } from './pictures.ts'

/** Requests to the application that are open at once. */
const maxInFlight = 8

/**
 * How long a reader waits for a scene that may be newer. An application that draws several slow
 * frames in a row answers between two of them.
 */
const refreshMs = 1500

/** Characters of what the application says in an error. */
const maxMessageChars = 255

/** Characters of the JSON of the view of a picture. */
const maxViewChars = 4096

const contentsForm = z.array(z.preprocess(withoutNulls, contentForm))

/** Why a request has no answer, in place of the code of an error. */
type NoAnswer = 'host_busy' | 'host_disconnected' | 'host_timeout'

/** What became of a request. */
export interface Reply {
  /** Null: it was answered. */
  readonly code: NoAnswer | (string & {}) | null
  /** What the application said of an error. */
  readonly message: string
  /** The answer as it came. */
  readonly members: JsonObject
  /** The picture that came with it. */
  readonly png: Buffer | null
}

/** Within these times, in milliseconds, the application must answer. */
const usualDeadlines = { readMs: 5000, captureMs: 8000 }

/** The requests of one connection. Each has exactly one outcome, by its deadline at the latest. */
export class Requests {
  readonly #channel: Pick<Channel, 'send'>
  readonly #maxBytes: number
  readonly #deadlines: typeof usualDeadlines
  readonly #open = new Map<string, (reply: Reply) => void>()
  #lastId = 0
  #isConnected = true
  /** The application says that its main thread is at work elsewhere. */
  isBusy = false

  /** `maxBytes`: of one message. */
  constructor(channel: Pick<Channel, 'send'>, maxBytes: number, deadlines = usualDeadlines) {
    this.#channel = channel
    this.#maxBytes = maxBytes
    this.#deadlines = deadlines
  }

  /** Rejects with a `ServiceError` of a `resource_` code. */
  async read(uri: string, signal?: AbortSignal): Promise<readonly Content[]> {
    const deadline_ms = this.#deadlines.readMs
    const request = { type: 'read', id: this.#nextId(), uri, deadline_ms } as const
    const { code, message, members } = await this.#ask(request, signal)
    if (code === null) return contentsOf(members['contents'])
    if (code === 'not_found') throw new ResourceNotFound(uri, message)
    if (code === 'invalid') {
      throw new ResourceUriInvalid(`the application refuses the URI${applicationWords(message)}`)
    }
    throw hostFailure(code, message)
  }

  /** Never rejects. */
  async capture(form: AppCaptureForm): Promise<Result<Capture, CaptureFailure>> {
    const { signal, view: target, shot, maxWidth: max_width } = form
    const max_bytes = Math.min(form.maxBytes, this.#maxBytes)
    const bounds = { max_width, max_bytes, deadline_ms: this.#deadlines.captureMs }
    const request = { type: 'capture', id: this.#nextId(), target, shot, ...bounds } as const
    return pictureOf(await this.#ask(request, signal))
  }

  /** False when the application did not say in time that the server has its scene as it is. */
  async refresh(): Promise<boolean> {
    if (this.isBusy) return false
    const request = { type: 'refresh', id: this.#nextId(), deadline_ms: refreshMs } as const
    return (await this.#ask(request)).code === null
  }

  /** Ends the request that is answered. A late or second answer changes nothing. */
  settle(members: JsonObject, png: Buffer | null): void {
    const { type, id, code, message } = members
    // What an application says of its own faults is for its log, and may hold secrets.
    const isPublic = typeof message === 'string' && code !== 'internal'
    const text = isPublic ? message.slice(0, maxMessageChars).toWellFormed() : ''
    const failed = code === 'busy' ? 'host_busy' : String(code)
    const reply = { code: type === 'ok' ? null : failed, message: text, members, png }
    this.#open.get(String(id))?.(reply)
  }

  /** The connection is lost: every request fails, those to come too. */
  disconnect(): void {
    this.#isConnected = false
    for (const settle of [...this.#open.values()]) settle(noAnswer('host_disconnected'))
  }

  #nextId(): string {
    return `s${++this.#lastId}`
  }

  async #ask(
    request: Extract<ServerMessage, { deadline_ms: number }>,
    signal?: AbortSignal,
  ): Promise<Reply> {
    if (!this.#isConnected) return noAnswer('host_disconnected')
    if (this.#open.size >= maxInFlight) return noAnswer('host_busy')
    if (signal?.aborted === true) return noAnswer('host_timeout')
    const { id, deadline_ms: deadlineMs } = request
    const { promise, resolve } = Promise.withResolvers<Reply>()
    const settle = (reply: Reply): void => {
      clearTimeout(timer)
      unsubscribe()
      this.#open.delete(id)
      resolve(reply)
    }
    const giveUp = (): void => {
      settle(noAnswer(this.isBusy ? 'host_busy' : 'host_timeout'))
      this.#channel.send({ type: 'cancel', id })
    }
    const timer = setTimeout(giveUp, deadlineMs).unref()
    const unsubscribe = onAbort(signal, giveUp)
    this.#open.set(id, settle)
    if (!this.#channel.send(request)) settle(noAnswer('host_disconnected'))
    return promise
  }
}

function noAnswer(code: NoAnswer): Reply {
  return { code, message: '', members: {}, png: null }
}

function contentsOf(raw: unknown): readonly Content[] {
  const { success, data } = contentsForm.safeParse(raw)
  if (success) return data as Content[]
  const message = 'the application answered with contents of a wrong form'
  throw new ServiceError('resource_failed', message, { data: { reason: 'host_failed' } })
}

/** The picture in the application's answer: docs/host-link.md, "Messages of the server". */
function pictureOf(reply: Reply): Result<Capture, CaptureFailure> {
  const { code, message, members, png } = reply
  if (code !== null) return fail(pictureFailure(code, message))
  if (png === null) return failed('the application answered without a picture')
  const view = members['view'] ?? undefined
  if (view === undefined) return ok({ png })
  if (isJsonObject(view) && JSON.stringify(view).length <= maxViewChars) return ok({ png, view })
  return failed(`the view of a picture is an object of at most ${maxViewChars} characters`)
}

function failed(message: string): Result<never, CaptureFailure> {
  return fail({ reason: 'failed', message })
}
