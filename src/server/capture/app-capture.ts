import type { Result } from '../../lib/util/result.ts'
import type { CaptureView } from '../resources/capture-source.ts'
import type { CaptureFailure, CaptureForm, Unavailable } from './backend.ts'

export interface AppCaptureForm extends CaptureForm {
  readonly view: CaptureView
}

/** As the application sent it: nothing of the bytes is checked yet. */
export interface AppPicture {
  readonly png: Buffer
  /** Of the window; empty when the application names none. */
  readonly title: string
  /** Pixels of the window, when the picture was scaled down; null: not said. */
  readonly window: { readonly width: number; readonly height: number } | null
}

/** The linked application as a source of pictures: what the host link offers, over all its runs. */
export interface AppCapture {
  /**
   * Whether an application is linked that said it can draw its window, or what else is named. Asks
   * nobody, never throws.
   */
  offered(view?: CaptureView): Result<null, Unavailable>
  /**
   * Asks it. Never rejects; ends by the deadline of the link, and soon after `form.signal` is
   * aborted, in which case the question is withdrawn and the outcome of no interest.
   */
  ask(form: AppCaptureForm): Promise<Result<AppPicture, CaptureFailure>>
}

/** The same application, which is also told of its pictures. */
export interface LinkedPictures extends AppCapture {
  /** A picture of it was taken, by itself or from outside. */
  captured(view: CaptureView): void
}
