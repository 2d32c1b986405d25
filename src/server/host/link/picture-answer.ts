import { isJsonObject } from '../../../lib/util/json.ts'
import { MemberReader } from '../../../lib/util/member-reader.ts'
import { type Result, fail, ok } from '../../../lib/util/result.ts'
import type { AppPicture } from '../../capture/app-capture.ts'
import type { CaptureFailure } from '../../capture/backend.ts'
import type { Limits } from '../../../lib/config/limits.ts'
import { type AppReply, describeError } from './app-answer.ts'
import type { HostReason } from './host-failure.ts'

export interface PictureFailure {
  readonly failure: CaptureFailure
  /** For the log; null when there is nothing wrong with the application. */
  readonly trouble: string | null
}

type Reason = CaptureFailure['reason']

/** No window of this world is larger. */
const maxSide = 65_535
const maxTitleChars = 4096

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

/** What whoever asked for a picture gets for the answer: docs/host-link.md, "capture". */
export function pictureOutcome(
  answer: Result<AppReply, HostReason>,
  png: Buffer | null,
  limits: Pick<Limits, 'maxFieldChars'>,
): Result<AppPicture, PictureFailure> {
  if (!answer.ok)
    return fail({ failure: pictureFailure(unanswered[answer.failure]), trouble: null })
  const reply = answer.value
  if (reply.type === 'error') {
    const reason = Object.hasOwn(said, reply.code) ? said[reply.code] : undefined
    if (reason !== undefined) return fail({ failure: pictureFailure(reason), trouble: null })
    return failed(describeError(reply, limits))
  }
  if (png === null) return failed('an answer without a picture')
  const window = readWindow(reply['window'])
  return window.ok ? ok({ png, ...window.value }) : failed(window.failure)
}

function readWindow(value: unknown): Result<Omit<AppPicture, 'png'>, string> {
  if (!isJsonObject(value)) {
    const isAbsent = value === undefined || value === null
    return isAbsent ? ok({ title: '', window: null }) : fail('/window must be an object')
  }
  const reader = new MemberReader(value, '/window', 'pass')
  const title = (reader.shortText('title', maxTitleChars) ?? '').toWellFormed()
  const width = reader.required('width', reader.integer('width', 1, maxSide), 1)
  const height = reader.required('height', reader.integer('height', 1, maxSide), 1)
  const wrong = reader.failure
  if (wrong !== null) return fail(`${wrong.pointer} ${wrong.detail}`)
  return ok({ title, window: { width, height } })
}

function failed(trouble: string): Result<never, PictureFailure> {
  return fail({ failure: pictureFailure('failed'), trouble })
}
