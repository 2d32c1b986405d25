import type { PictureShot } from '../../lib/host-link/wire.ts'
import type { JsonObject } from '../../lib/util/json.ts'
import type { EncodedBlob } from './producer.ts'

/** Why no picture can be taken, and what would change that. */
interface NoCapture {
  readonly message: string
  readonly hint: string
}

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
  /** Null: a read is expected to give a picture. Answers from memory. */
  readonly unavailable: NoCapture | null
  /** Pixels; wider pictures are scaled down. */
  readonly maxWidth: number
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

/** For a server without a window. */
export const noCapture: CaptureSource = Object.freeze<CaptureSource>({
  unavailable: Object.freeze({
    message: 'this server has no window to capture',
    hint: 'start it as service-cli serve, without --capture off',
  }),
  maxWidth: 1,
  hasViewport: false,
  read: () => Promise.reject(new Error('there is no window')),
  onChange: () => () => {},
})
