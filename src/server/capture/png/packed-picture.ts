import { ok, type Result } from '../../../lib/util/result.ts'
import type { CaptureFailure } from '../backend.ts'
import type { JobAnswer } from '../thread/serve-jobs.ts'
import type { Picture } from './make-picture.ts'

/** A picture on its way between threads, which know no `Buffer`. */
export interface PackedPicture {
  readonly png: Uint8Array<ArrayBuffer>
  readonly width: number
  readonly height: number
}

type Packed = Result<PackedPicture, CaptureFailure>

export function packPicture(made: Result<Picture, CaptureFailure>): JobAnswer<Packed> {
  if (!made.ok) return { answer: made, transfer: [] }
  // Small buffers share their memory with others, and cannot be handed over.
  const png = new Uint8Array(made.value.png)
  return { answer: ok({ ...made.value, png }), transfer: [png.buffer] }
}

export function unpackPicture(packed: Packed): Result<Picture, CaptureFailure> {
  if (!packed.ok) return packed
  const { png, width, height } = packed.value
  return ok({ png: Buffer.from(png.buffer, png.byteOffset, png.byteLength), width, height })
}
