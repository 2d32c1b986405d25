import type { JsonObject } from '../../lib/util/json.ts'
import { fail, ok, type Result } from '../../lib/util/result.ts'
import type { CaptureView } from '../resources/capture-source.ts'
import type {
  Capture,
  CaptureBackend,
  CaptureFailure,
  CaptureForm,
  Unavailable,
} from './backend.ts'
import { fitPng, pictureFacts } from './pictures.ts'

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
  readonly view?: JsonObject
}

/** The linked application as a source of pictures: what the host link offers, over all its runs. */
export interface AppCapture {
  /**
   * Whether the linked application offered to draw its window, or the named view. Answers from
   * memory and never throws.
   */
  offered(view?: CaptureView): Result<null, Unavailable>
  /** Whether it can also draw its view from a given place. */
  offersShots?(): boolean
  /**
   * Asks it. Never rejects; ends by the deadline of the link, and soon after `form.signal` is
   * aborted, in which case the question is withdrawn and the outcome of no interest.
   */
  ask(form: AppCaptureForm): Promise<Result<AppPicture, CaptureFailure>>
}

/** The same application, which is also told of its pictures. */
export interface LinkedPictures extends AppCapture {
  /** A client got a picture of it, drawn by itself or taken from outside. */
  captured(view: CaptureView): void
}

export const noShots: CaptureFailure = {
  reason: 'failed',
  message: 'the application draws its view only as it is on the screen',
}

/** The application itself as a way to a picture of its window. */
export function createHostBackend(app: AppCapture): CaptureBackend {
  return {
    name: 'host',
    probe: async () => app.offered(),
    capture: (_target, form) => captureInApp(app, { ...form, view: 'window' }),
    viewport: {
      offered: () => app.offered('viewport').ok,
      offersShots: () => app.offered('viewport').ok && app.offersShots?.() === true,
      capture: form => captureInApp(app, { ...form, view: 'viewport' }),
    },
  }
}

async function captureInApp(
  app: AppCapture,
  form: AppCaptureForm,
): Promise<Result<Capture, CaptureFailure>> {
  const taken = await app.ask(form)
  if (!taken.ok) return taken
  const { png, title, window, view } = taken.value
  const drawn = pictureFacts(png)
  const fitting = drawn?.mimeType === 'image/png' ? await fitPng(png, form) : null
  if (drawn === null || fitting === null) {
    const message = 'the picture that the application took cannot be used'
    return fail({ reason: 'failed', message })
  }
  const { width, height } = window ?? drawn
  return ok({ ...fitting, window: { title, width, height }, ...(view && { view }) })
}
