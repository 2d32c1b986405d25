import { type PictureTarget, pictureTargets } from '../../../lib/host-link/wire.ts'
import { MemberReader } from '../../../lib/host-link/member-reader.ts'
import { fail, ok, type Result } from '../../../lib/util/result.ts'
import type { CaptureFailure, Unavailable } from '../../capture/backend.ts'
import { deniedPictures, noApplication } from '../../capture/target.ts'
import { type AppReply, describeError } from './app-answer.ts'
import { isJsonObject } from '../../../lib/util/json.ts'
import type { AppPicture } from '../../capture/host-backend.ts'
import type { HostReason } from './failures.ts'

/** What an application said of pictures of itself. */
export interface PictureOfferFacts {
  readonly targets: readonly PictureTarget[]
  /** It draws the scene from where it is told. */
  readonly shots?: boolean
  /** The user shares no pictures: also none taken from outside of the application. */
  readonly denied: boolean
}

export const noPictures: PictureOfferFacts = { targets: [], denied: false }

/** More than there will ever be kinds of pictures. */
const maxTargets = 16

/**
 * The member `capture` of a message; undefined when it is absent. Unknown targets are newer ones.
 */
export function readPictureOffer(
  reader: MemberReader,
  others: 'refuse' | 'pass',
): PictureOfferFacts | undefined {
  const value = reader.any('capture')
  if (value === undefined) return undefined
  const offer = new MemberReader(value, '/capture', others)
  const targets = offer.any('targets') ?? []
  const shots = offer.flag('shots') === true && { shots: true }
  const denied = offer.flag('denied') ?? false
  const isList = Array.isArray(targets) && targets.length <= maxTargets
  if (!isList || !targets.every(target => typeof target === 'string')) {
    offer.refuse('targets', `must be an array of up to ${maxTargets} strings`)
  }
  reader.inherit(offer.failure)
  const said: readonly unknown[] = isList ? targets : []
  return { targets: pictureTargets.filter(target => said.includes(target)), denied, ...shots }
}

/** Whether such a picture can be expected. `null`: no application is connected. */
export function offeredPictures(
  offer: PictureOfferFacts | null,
  target: PictureTarget,
): Result<null, Unavailable> {
  if (offer === null) return fail(noApplication)
  if (offer.denied) return fail(deniedPictures)
  if (offer.targets.includes(target)) return ok(null)
  return fail({
    reason: 'not_offered',
    message: `the application takes no pictures of its ${target}`,
    hint: 'start the application with a window, or use an adapter that takes pictures',
  })
}

/** The answer that announced the picture, and its bytes. */
interface ArrivedPicture {
  readonly reply: AppReply
  readonly png: Buffer
}

/**
 * An answer with `png_bytes` and the binary frame that must follow it at once: nothing else tells
 * a picture from the bytes of an artefact, which may be on their way at the same time.
 */
export class PictureFrame {
  #announced: { readonly reply: AppReply; readonly bytes: number } | null = null

  get isDue(): boolean {
    return this.#announced !== null
  }

  /** Whether the answer announces a picture. A text: why that cannot be told. */
  announce(reply: AppReply): boolean | string {
    const bytes = reply.type === 'ok' ? (reply['png_bytes'] ?? null) : null
    if (bytes === null) return false
    if (!Number.isSafeInteger(bytes) || Number(bytes) < 1) {
      return '/png_bytes must be a whole number, 1 or more'
    }
    this.#announced = { reply, bytes: Number(bytes) }
    return true
  }

  /** The frame that was due; a text when it is another one. */
  take(png: Buffer): ArrivedPicture | string {
    const announced = this.#announced
    this.#announced = null
    if (announced === null) return 'a binary frame came without an announcement'
    if (png.length === announced.bytes) return { reply: announced.reply, png }
    return `a picture of ${png.length} bytes came, ${announced.bytes} were announced`
  }
}

interface PictureFailure {
  readonly failure: CaptureFailure
  /** For the log; null when there is nothing wrong with the application. */
  readonly trouble: string | null
}

type Reason = CaptureFailure['reason']

const maxViewChars = 4096

const texts: Partial<Record<Reason, string>> = {
  minimised: 'the window of the application is minimised',
  no_window: 'the application has no such window',
  blank: 'there is nothing on the picture that the application took',
  permission: 'the application may not take pictures of its window',
  timeout: 'the application did not answer in time',
  host_busy: 'the application is busy',
  host_disconnected: 'the application is not connected',
  failed: 'the application could not take a picture',
}

/** What the application itself says of a picture, by the code of its error. */
const said: Readonly<Record<string, Reason>> = {
  minimised: 'minimised',
  no_window: 'no_window',
  blank: 'blank',
  permission: 'permission',
  busy: 'host_busy',
}

const unanswered: Readonly<Record<HostReason, Reason>> = {
  host_busy: 'host_busy',
  host_timeout: 'timeout',
  host_disconnected: 'host_disconnected',
  host_failed: 'failed',
}

export function pictureFailure(reason: Reason): CaptureFailure {
  return { reason, message: texts[reason] ?? reason }
}

/** The result of a capture for the application's answer: docs/host-link.md, "capture". */
export function pictureOutcome(
  answer: Result<AppReply, HostReason>,
  png: Buffer | null,
): Result<AppPicture, PictureFailure> {
  if (!answer.ok)
    return fail({ failure: pictureFailure(unanswered[answer.failure]), trouble: null })
  const reply = answer.value
  if (reply.type === 'error') {
    if (reply.code === 'not_found') {
      const message = `the application finds nothing like that: ${describeError(reply)}`
      return fail({ failure: { reason: 'not_found', message }, trouble: null })
    }
    const reason = Object.hasOwn(said, reply.code) ? said[reply.code] : undefined
    if (reason !== undefined) return fail({ failure: pictureFailure(reason), trouble: null })
    return failed(describeError(reply))
  }
  if (png === null) return failed('an answer without a picture')
  const { view } = reply
  if (view === undefined || view === null) return ok({ png })
  const isView = isJsonObject(view) && JSON.stringify(view).length <= maxViewChars
  if (!isView) return failed(`/view must be an object of at most ${maxViewChars} characters`)
  return ok({ png, view })
}

function failed(trouble: string): Result<never, PictureFailure> {
  return fail({ failure: pictureFailure('failed'), trouble })
}
