import { messageOf } from '../../../lib/util/errors.ts'
import { fail, ok, type Result } from '../../../lib/util/result.ts'
import type { Timer } from '../../../lib/util/time.ts'
import type {
  Capture,
  CaptureBackend,
  CaptureFailure,
  CaptureForm,
  CaptureTarget,
  Unavailable,
} from '../backend.ts'
import { unpackPicture } from '../png/pixels.ts'
import { thrown } from '../png/picture-maker.ts'
import { JobThread, scriptBeside } from '../../thread/job-thread.ts'
import { probeDisplay } from '../x11/display.ts'
import { shootShown, type ShownWindowOptions } from '../x11/shown-window.ts'
import type { NativeAnswer, NativeJob } from './native-thread.ts'

interface NativeOptions extends ShownWindowOptions {
  readonly timer: Timer
  readonly platform: NodeJS.Platform
}

/**
 * The optional package node-screenshots, in its own thread. On Linux the X display chooses and
 * checks the window, because it knows more about windows than the package.
 */
export function createNativeBackend(options: NativeOptions): CaptureBackend {
  const { env, limits, platform, timer } = options
  const script = scriptBeside(import.meta.url, 'native-thread')
  const thread = new JobThread<NativeJob, NativeAnswer>({
    script,
    idleMs: limits.encoderIdleMs,
    timer,
  })
  const onX11 = platform === 'linux'

  async function probe(): Promise<Result<null, Unavailable>> {
    if (onX11) {
      const display = await probeDisplay(env, limits)
      if (!display.ok) return display
    }
    const signal = AbortSignal.timeout(limits.libraryTimeoutMs)
    try {
      const answer = await thread.run({ kind: 'probe' }, [], signal)
      return answer.kind === 'probe' ? answer.result : fail(unusable('it gave another answer'))
    } catch (error) {
      const why = messageOf(error)
      return fail(unusable(signal.aborted ? 'it took too long' : why))
    }
  }

  async function take(
    target: CaptureTarget,
    form: CaptureForm,
    id: number | null,
  ): Promise<Result<Capture, CaptureFailure>> {
    const { maxWidth, maxBytes, signal } = form
    const { maxEncodeRounds: maxRounds, maxWindowPixels: maxPixels, maxProcessDepth } = limits
    const request = { id, target, form: { maxWidth, maxBytes, maxRounds }, maxPixels }
    try {
      const answer = await thread.run({ kind: 'take', request, maxProcessDepth }, [], signal)
      if (answer.kind !== 'take') return fail({ reason: 'failed', message: 'no picture came' })
      if (!answer.result.ok) return answer.result
      const { picture, window } = answer.result.value
      const unpacked = unpackPicture(ok(picture))
      return unpacked.ok ? ok({ ...unpacked.value, window }) : unpacked
    } catch (error) {
      return fail(thrown(error, signal))
    }
  }

  return {
    name: 'native',
    probe,
    async capture(target, form) {
      if (!onX11) return take(target, form, null)
      const taken = await shootShown(options, target, form.signal, (_, { id }) =>
        take(target, form, id),
      )
      if (!taken.ok) return taken
      const { shot, window } = taken.value
      // The package reads titles of one form only.
      return ok({ ...shot, window: { ...shot.window, title: window.title } })
    },
    close: () => thread.close(),
  }
}

function unusable(why: string): Unavailable {
  return {
    reason: 'failed',
    message: `the package node-screenshots does not work here: ${why}`,
    hint: 'use another way: --capture host or --capture x11',
  }
}
