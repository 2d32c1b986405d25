import type { Result } from '../../../lib/util/result.ts'
import type { CaptureFailure } from '../backend.ts'
import { serveJobs } from '../thread/serve-jobs.ts'
import { makePicture, type PictureForm } from './make-picture.ts'
import type { RawPicture } from './pixels.ts'
import { packPicture, type PackedPicture } from './pixels.ts'

/** The start of the thread that makes PNG files of what a display gave. */
export interface PictureJob {
  readonly raw: RawPicture
  readonly form: PictureForm
}

serveJobs<PictureJob, Result<PackedPicture, CaptureFailure>>(({ raw, form }) =>
  packPicture(makePicture(raw, form)),
)
