import { type Result, fail, ok } from '../../lib/util/result.ts'
import type { AppCapture, AppCaptureForm, AppPicture } from './app-capture.ts'
import type { Capture, CaptureBackend, CaptureFailure } from './backend.ts'
import { checkPng } from './png-check.ts'

/** The application itself as a way to a picture of its window. */
export function createHostBackend(app: AppCapture): CaptureBackend {
  let last: Promise<unknown> = Promise.resolve()
  /** It draws on its main thread, one picture at a time: the next one waits for its turn. */
  const inTurn = <Taken>(take: () => Promise<Taken>): Promise<Taken> => {
    const taking = last.then(take)
    last = taking.catch(() => {})
    return taking
  }
  return {
    name: 'host',
    probe: async () => app.offered(),
    capture: (_target, form) => inTurn(() => captureInApp(app, { ...form, view: 'window' })),
    viewport: {
      offered: () => app.offered('viewport').ok,
      capture: form => inTurn(() => captureInApp(app, { ...form, view: 'viewport' })),
    },
  }
}

/** One picture, checked: what comes from the application is nobody's word but its own. */
export async function captureInApp(
  app: AppCapture,
  form: AppCaptureForm,
): Promise<Result<Capture, CaptureFailure>> {
  const taken = await app.ask(form)
  return taken.ok ? checked(taken.value, form) : taken
}

function checked(picture: AppPicture, form: AppCaptureForm): Result<Capture, CaptureFailure> {
  const { png, title, window } = picture
  const size = checkPng(png, form)
  if (!size.ok) {
    const message = `the picture that the application took cannot be used: ${size.failure}`
    return fail({ reason: 'failed', message })
  }
  const { width, height } = window ?? size.value
  return ok({ png, ...size.value, window: { title, width, height } })
}
