import { z } from 'zod'
import type { PictureOffer } from '../../../lib/host-link/messages.ts'
import type { PictureTarget } from '../../../lib/host-link/wire.ts'
import { firstIssue } from '../../../lib/util/first-issue.ts'
import { isJsonObject, type JsonObject } from '../../../lib/util/json.ts'
import { fail, ok, type Result } from '../../../lib/util/result.ts'
import type { CaptureFailure, Unavailable } from '../../capture/backend.ts'
import type { AppPicture } from '../../capture/host-backend.ts'
import { deniedPictures, noApplication } from '../../capture/target.ts'
import type { NoAnswer } from './failures.ts'
import type { Reply } from './requests.ts'

/** Whether such a picture can be expected. `null`: no application is connected. */
export function offeredPictures(
  offer: PictureOffer | null,
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

interface PictureFailure {
  readonly failure: CaptureFailure
  /** For the log; null when there is nothing wrong with the application. */
  readonly trouble: string | null
}

type Reason = CaptureFailure['reason']

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

/** Codes of errors that say what became of a picture. */
const said = ['minimised', 'no_window', 'blank', 'permission'] as const

export function pictureFailure(reason: Reason): CaptureFailure {
  return { reason, message: texts[reason] ?? reason }
}

const maxViewChars = 4096

const viewForm = z
  .custom<JsonObject>(
    view => isJsonObject(view) && JSON.stringify(view).length <= maxViewChars,
    `/view must be an object of at most ${maxViewChars} characters`,
  )
  .nullish()

/** The picture in the application's answer: docs/host-link.md, "capture". */
export function pictureOf(answer: Result<Reply, NoAnswer>): Result<AppPicture, PictureFailure> {
  if (!answer.ok) {
    const { failure } = answer
    const reason = failure === 'host_timeout' ? 'timeout' : failure
    return fail({ failure: pictureFailure(reason), trouble: null })
  }
  const { code, message, members, png } = answer.value
  if (code === 'not_found') {
    const nothing = `the application finds nothing like that: ${message}`
    return fail({ failure: { reason: 'not_found', message: nothing }, trouble: null })
  }
  if (code !== null) {
    const reason = code === 'busy' ? 'host_busy' : said.find(each => each === code)
    if (reason === undefined) return failed(`${code}: ${message}`)
    return fail({ failure: pictureFailure(reason), trouble: null })
  }
  if (png === null) return failed('an answer without a picture')
  const { success, data, error } = viewForm.safeParse(members['view'])
  return success ? ok({ png, view: data ?? undefined }) : failed(firstIssue(error))
}

function failed(trouble: string): Result<never, PictureFailure> {
  return fail({ failure: pictureFailure('failed'), trouble })
}
