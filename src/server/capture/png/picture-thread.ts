import type { Result } from '../../../lib/util/result.ts'
import type { CaptureFailure } from '../backend.ts'
import { serveJobs } from '../../thread/serve-jobs.ts'
import { comparePictures, type PictureDifference } from './compare.ts'
import { makePicture, type PictureForm } from './make-picture.ts'
import type { RawPicture } from './pixels.ts'
import { shrinkPng } from './shrink-png.ts'
import { packPicture, type PackedPicture } from './pixels.ts'

/** The start of the thread that makes PNG files: of what a display gave, or of larger ones. */
export type PictureJob =
  | { readonly form: PictureForm; readonly raw: RawPicture }
  | { readonly form: PictureForm; readonly file: Uint8Array }
  | { readonly before: Uint8Array; readonly after: Uint8Array }

export type PictureAnswer = Result<PackedPicture, CaptureFailure> | PictureDifference | null

serveJobs<PictureJob, PictureAnswer>(async job => {
  if ('before' in job) return comparePictures(job.before, job.after)
  const { form } = job
  return packPicture('raw' in job ? makePicture(job.raw, form) : await shrinkPng(job.file, form))
})
