import { messageOf } from '../../../lib/util/errors.ts'
import { fail, type Result } from '../../../lib/util/result.ts'
import { asBuffer } from '../../resources/base64.ts'
import { systemTimer } from '../../../lib/util/time.ts'
import type { CaptureFailure, CaptureForm } from '../backend.ts'
import { JobThread, scriptBeside } from '../../thread/job-thread.ts'
import { checkPng, type PngBounds } from '../png-check.ts'
import { windowCaptureLimits } from '../window-limits.ts'
import type { Picture } from './make-picture.ts'
import { type PackedPicture, unpackPicture } from './pixels.ts'
import type { PictureDifference } from './compare.ts'
import type { PictureAnswer, PictureJob } from './picture-thread.ts'
import type { RawPicture } from './pixels.ts'

type Packed = Result<PackedPicture, CaptureFailure>

/** A picture of 8K takes some seconds. */
const maxShrinkMs = 30_000

/** Makes PNG files of raw pictures, in its own thread. */
export interface PictureMaker {
  /** The bytes of `raw` are gone afterwards. Never rejects. */
  make(raw: RawPicture, form: CaptureForm): Promise<Result<Picture, CaptureFailure>>
  /**
   * A PNG file with fewer pixels; null: it is no wider and no larger than asked for, too large to
   * be read, or damaged. `file` is gone afterwards. Never rejects.
   */
  shrink(file: Uint8Array<ArrayBuffer>, bounds: PngBounds): Promise<Picture | null>
  /** Null: they are not of one size, or damaged. Never rejects. */
  compare(before: Buffer, after: Buffer): Promise<PictureDifference | null>
  close(): Promise<void>
}

export function createPictureMaker(limits = windowCaptureLimits): PictureMaker {
  const script = scriptBeside(import.meta.url, 'picture-thread')
  const thread = new JobThread<PictureJob, PictureAnswer>({
    script,
    idleMs: limits.encoderIdleMs,
    timer: systemTimer,
  })
  return {
    async make(raw, { maxWidth, maxBytes, signal }) {
      const form = { maxWidth, maxBytes, maxRounds: limits.maxEncodeRounds }
      // Of a view of something larger only what is seen is handed over.
      const bytes = ownBytes(raw.bytes)
      const job = { raw: { ...raw, bytes }, form }
      try {
        return unpackPicture((await thread.run(job, [bytes.buffer], signal)) as Packed)
      } catch (error) {
        return fail(thrown(error, signal))
      }
    },
    async shrink(file, bounds) {
      const size = checkPng(asBuffer(file), { maxBytes: Infinity, maxWidth: Infinity })
      if (!size.ok || size.value.width * size.value.height > limits.maxWindowPixels) return null
      if (size.value.width <= bounds.maxWidth && file.length <= bounds.maxBytes) return null
      const job = { file, form: { ...bounds, maxRounds: limits.maxEncodeRounds } }
      const signal = AbortSignal.timeout(maxShrinkMs)
      try {
        const made = unpackPicture((await thread.run(job, [file.buffer], signal)) as Packed)
        return made.ok ? made.value : null
      } catch {
        return null
      }
    },
    async compare(before, after) {
      const signal = AbortSignal.timeout(maxShrinkMs)
      const job = { before, after }
      return thread.run(job, [], signal).catch(() => null) as Promise<PictureDifference | null>
    },
    close: () => thread.close(),
  }
}

/** The skipped head of an answer is let go with it; memory that others share is copied. */
function ownBytes(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer, byteOffset, byteLength } = bytes
  const isOwn = buffer instanceof ArrayBuffer && buffer.byteLength - byteLength <= 64
  return isOwn ? new Uint8Array(buffer, byteOffset, byteLength) : new Uint8Array(bytes)
}

export function thrown(error: unknown, signal: AbortSignal): CaptureFailure {
  if (signal.aborted) return { reason: 'timeout', message: 'the picture took too long' }
  const message = messageOf(error)
  return { reason: 'failed', message: `the picture could not be made: ${message}` }
}
