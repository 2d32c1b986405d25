import type { PictureShot } from '../../lib/host-link/wire.ts'
import type { JsonObject } from '../../lib/util/json.ts'
import type { EncodedBlob } from './producer.ts'

/** What a picture may show: the whole window, or the view of the scene alone. */
export type CaptureView = 'window' | 'viewport'

/** A picture that was taken. */
export interface SharedPicture {
  readonly blob: EncodedBlob
  /** What the application needs to draw the same again, where it says so. */
  readonly view?: JsonObject
}

/** Where the picture of the application's window comes from. */
export interface CaptureSource {
  /**
   * Why no picture can be taken, and what would change that; null: a read is expected to give one.
   * Answers from memory.
   */
  readonly unavailable: { readonly message: string; readonly hint: string } | null
  /** Looks for the window again. Never rejects. */
  look(): Promise<void>
  /** Whether there is also a picture of the view of the scene alone. */
  readonly hasViewport: boolean
  /**
   * A PNG file, at most so wide. Rejects with a `ServiceError` of a `resource_` code, which reaches
   * the reader as it is. `signal`: of the reader; once every one has left, the answer may be anything.
   */
  read(
    maxWidth: number,
    signal?: AbortSignal,
    view?: CaptureView,
    shot?: PictureShot,
  ): Promise<SharedPicture>
  /**
   * Told when `unavailable` becomes null or stops to be, or what it can show changes. Returns
   * how to call it off.
   */
  onChange(listener: () => void): () => void
}
