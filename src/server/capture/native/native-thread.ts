import { fail, ok, type Result } from '../../../lib/util/result.ts'
import type { CaptureFailure, Unavailable } from '../backend.ts'
import { type PackedPicture, packPicture } from '../png/pixels.ts'
import { type JobAnswer, serveJobs } from '../../thread/serve-jobs.ts'
import { familyOf, parentInProc } from '../window/process-family.ts'
import { loadLibrary, type NativeLibrary, unavailableOfListing } from './library.ts'
import { type NativePicture, type PictureRequest, takePicture } from './take-picture.ts'

/**
 * The start of the thread with the library: it lists windows and takes pictures in calls that do
 * not return before they are done, and would keep the main thread from everything else.
 */
serveJobs<NativeJob, NativeAnswer>(async job => {
  const library = await loadLibrary(() => import('node-screenshots'))
  return job.kind === 'probe' ? probe(library) : take(library, job)
})

type Loaded = Result<NativeLibrary, Unavailable>

function probe(library: Loaded): JobAnswer<NativeAnswer> {
  const answer = (result: Result<null, Unavailable>): JobAnswer<NativeAnswer> => ({
    answer: { kind: 'probe', result },
    transfer: [],
  })
  if (!library.ok) return answer(library)
  try {
    library.value.Window.all()
    return answer(ok(null))
  } catch (error) {
    return answer(fail(unavailableOfListing(error)))
  }
}

async function take(
  library: Loaded,
  { request, maxProcessDepth }: NativeJob & { kind: 'take' },
): Promise<JobAnswer<NativeAnswer>> {
  if (!library.ok) {
    const { message } = library.failure
    return { answer: { kind: 'take', result: fail({ reason: 'failed', message }) }, transfer: [] }
  }
  const inFamily = familyOf(request.target.pid, parentInProc, maxProcessDepth)
  const taken = await takePicture(library.value, request, inFamily, process.platform)
  if (!taken.ok) return { answer: { kind: 'take', result: taken }, transfer: [] }
  const { answer, transfer } = packPicture(ok(taken.value.picture))
  if (!answer.ok) return { answer: { kind: 'take', result: answer }, transfer }
  const packed = ok({ picture: answer.value, window: taken.value.window })
  return { answer: { kind: 'take', result: packed }, transfer }
}

/** What the thread with the library is asked for, and what it answers. */
export type NativeJob =
  | { readonly kind: 'probe' }
  | { readonly kind: 'take'; readonly request: PictureRequest; readonly maxProcessDepth: number }

export type NativeAnswer =
  | { readonly kind: 'probe'; readonly result: Result<null, Unavailable> }
  | { readonly kind: 'take'; readonly result: Result<PackedNativePicture, CaptureFailure> }

interface PackedNativePicture {
  readonly picture: PackedPicture
  readonly window: NativePicture['window']
}
