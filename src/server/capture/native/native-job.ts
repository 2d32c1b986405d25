import type { Result } from '../../../lib/util/result.ts'
import type { CaptureFailure, Unavailable } from '../backend.ts'
import type { PackedPicture } from '../png/packed-picture.ts'
import type { NativePicture, PictureRequest } from './take-picture.ts'

/** What the thread with the library is asked for, and what it answers. */
export type NativeJob =
  | { readonly kind: 'probe' }
  | { readonly kind: 'take'; readonly request: PictureRequest; readonly maxProcessDepth: number }

export type NativeAnswer =
  | { readonly kind: 'probe'; readonly result: Result<null, Unavailable> }
  | { readonly kind: 'take'; readonly result: Result<PackedNativePicture, CaptureFailure> }

export interface PackedNativePicture {
  readonly picture: PackedPicture
  readonly window: NativePicture['window']
}
