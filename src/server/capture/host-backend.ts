import { fail, ok, type Result } from '../../lib/util/result.ts'
import type { CaptureView } from '../resources/capture.ts'
import type {
  Capture,
  CaptureBackend,
  CaptureFailure,
  CaptureForm,
  Unavailable,
} from './backend.ts'
import { fitPng, lacksSharp, pictureFacts } from './pictures.ts'
import { noApplication } from './target.ts'

export interface AppCaptureForm extends CaptureForm {
  readonly view: CaptureView
}

/** The linked application as a source of pictures: what the host link offers, over all its runs. */
export interface LinkedPictures {
  /**
   * Whether the linked application offered to draw its window, or the named view. Answers from
   * memory and never throws.
   */
  offered(view?: CaptureView): Result<null, Unavailable>
  /**
   * Asks it; nothing of the bytes is checked yet. Never rejects; ends by the deadline of the link, and
   * soon after `form.signal` is aborted: then the question is withdrawn and the outcome of no interest.
   */
  ask(form: AppCaptureForm): Promise<Result<Capture, CaptureFailure>>
  /** A client got a picture of it, drawn by itself or taken from outside. */
  captured(view: CaptureView): void
}

export const noShots: CaptureFailure = {
  reason: 'failed',
  message: 'the application draws its view only as it is on the screen: it offers no "shots"',
}

/** The application itself as a way to a picture of its window. `linked`: null before the link. */
export function createHostBackend(linked: () => LinkedPictures | null): CaptureBackend {
  async function draw(form: AppCaptureForm): Promise<Result<Capture, CaptureFailure>> {
    const taken = await linked()?.ask(form)
    if (!taken?.ok) return taken ?? fail({ ...noApplication, reason: 'host_disconnected' })
    const { png, view } = taken.value
    const fitting = await fitPng(png, form)
    if (fitting !== null) return ok({ png: fitting.png, ...(view && { view }) })
    const facts = pictureFacts(png)
    const wanted = `PNG picture of at most ${form.maxWidth} pixels`
    const message =
      facts !== null && (await lacksSharp())
        ? `${facts.width} x ${facts.height} pixels must become a ${wanted}, which needs the package sharp`
        : `the application took no ${wanted}`
    return fail({ reason: 'failed', message })
  }
  return {
    name: 'host',
    probe: async () => linked()?.offered() ?? fail(noApplication),
    capture: (_target, form) => draw({ ...form, view: 'window' }),
    viewport: {
      offered: () => linked()?.offered('viewport').ok === true,
      capture: form => draw({ ...form, view: 'viewport' }),
    },
  }
}
