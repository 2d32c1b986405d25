import type { JsonObject } from '../../lib/util/json.ts'
import { systemTimer } from '../../lib/util/time.ts'
import { fail, ok, type Result } from '../../lib/util/result.ts'
import type { CaptureView } from '../resources/capture-source.ts'
import type {
  Capture,
  CaptureBackend,
  CaptureFailure,
  CaptureForm,
  Unavailable,
} from './backend.ts'
import { checkPng } from './png-check.ts'

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
  /** A picture of it was taken, by itself or from outside. */
  captured(view: CaptureView): void
}

export const noShots: CaptureFailure = {
  reason: 'failed',
  message: 'the application draws its view only as it is on the screen',
}

export const noView: CaptureFailure = {
  reason: 'failed',
  message: 'the application draws no picture of its scene',
}

/** The rest for the application after a picture of its scene from another place. */
const restMs = 250

/** The application itself as a way to a picture of its window. */
export function createHostBackend(app: AppCapture, timer = systemTimer): CaptureBackend {
  let last: Promise<unknown> = Promise.resolve()
  /** It draws on its main thread, one picture at a time: the next one waits for its turn. */
  const inTurn = <Taken>(take: () => Promise<Taken>): Promise<Taken> => {
    const taking = last.then(take)
    last = taking.catch(() => {})
    return taking
  }
  /** Agents that look from many places must not take all of its time. */
  const rest = () => {
    last = last.then(() => new Promise<void>(resolve => void timer.after(restMs, resolve)))
  }
  return {
    name: 'host',
    probe: async () => app.offered(),
    capture: (_target, form) => inTurn(() => captureInApp(app, { ...form, view: 'window' })),
    viewport: {
      offered: () => app.offered('viewport').ok,
      offersShots: () => app.offered('viewport').ok && app.offersShots?.() === true,
      capture: form => {
        const taking = inTurn(() => captureInApp(app, { ...form, view: 'viewport' }))
        if (form.shot !== undefined) rest()
        return taking
      },
    },
  }
}

/** Takes one picture and checks it: the application is not trusted. */
export async function captureInApp(
  app: AppCapture,
  form: AppCaptureForm,
): Promise<Result<Capture, CaptureFailure>> {
  const taken = await app.ask(form)
  return taken.ok ? checked(taken.value, form) : taken
}

function checked(picture: AppPicture, form: AppCaptureForm): Result<Capture, CaptureFailure> {
  const { png, title, window, view } = picture
  const size = checkPng(png, form)
  if (!size.ok) {
    const message = `the picture that the application took cannot be used: ${size.failure}`
    return fail({ reason: 'failed', message })
  }
  const { width, height } = window ?? size.value
  return ok({ png, ...size.value, window: { title, width, height }, ...(view && { view }) })
}
