import type { PictureOffer } from '../../../lib/host-link/messages.ts'
import type { PictureTarget } from '../../../lib/host-link/wire.ts'
import { fail, ok, type Result } from '../../../lib/util/result.ts'
import type { CaptureFailure, Unavailable } from '../../capture/backend.ts'
import { deniedPictures, noApplication } from '../../capture/target.ts'
import { applicationWords } from '../../resources/errors.ts'

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

type Reason = CaptureFailure['reason']

const texts: Partial<Record<Reason, string>> = {
  minimised: 'the window of the application is minimised',
  no_window: 'the application has no such window',
  blank: 'there is nothing on the picture that the application took',
  permission: 'the application may not take pictures of its window',
  not_found: 'the application has no such camera or object',
  timeout: 'the application did not answer in time',
  host_busy: 'the application is busy',
  host_disconnected: 'the application is not connected',
}

/** `code`: of an error of the application, or why there is no answer; `detail`: its own words. */
export function pictureFailure(code: string, detail = ''): CaptureFailure {
  const known = code === 'host_timeout' ? 'timeout' : code
  const reason = Object.hasOwn(texts, known) ? (known as Reason) : 'failed'
  const text = texts[reason]
  if (text !== undefined) return { reason, message: text + applicationWords(detail) }
  return { reason, message: 'the application could not take a picture', detail }
}
