import type { Result } from '../../../lib/util/result.ts'
import type { CaptureFailure } from '../backend.ts'
import { serveJobs } from '../thread/serve-jobs.ts'
import { makePicture, type PictureForm } from './make-picture.ts'
import type { RawPicture } from './pixels.ts'
import { shrinkPng } from './shrink-png.ts'
import { packPicture, type PackedPicture } from './pixels.ts'

/** The start of the thread that makes PNG files: of what a display gave, or of larger ones. */
export type PictureJob = { readonly form: PictureForm } & (
  { readonly raw: RawPicture } | { readonly file: Uint8Array }
)

serveJobs<PictureJob, Result<PackedPicture, CaptureFailure>>(async job =>
  packPicture('raw' in job ? makePicture(job.raw, job.form) : await shrinkPng(job.file, job.form)),
)
