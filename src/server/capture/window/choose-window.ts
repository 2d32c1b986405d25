import { fail, ok, type Result } from '../../../lib/util/result.ts'
import type { CaptureFailure, CaptureTarget } from '../backend.ts'

/** What a display tells of one window of an application. */
export interface WindowFacts {
  readonly id: number
  /** Null: the window does not say, or says it of another machine. */
  readonly pid: number | null
  readonly title: string
  readonly width: number
  readonly height: number
  /** Greater is nearer to the eye. */
  readonly z: number
  /** It has the keyboard. */
  readonly active: boolean
  /** Also a window on another desktop: nothing is drawn of it. */
  readonly minimised: boolean
  /** A dialog, a palette, a splash: anything but a main window. */
  readonly dialog: boolean
}

/** Whether a process is the application's, or one that it started. */
export type InFamily = (pid: number) => boolean

/**
 * The window that a person would call the application's. A window that does not tell its process
 * is never taken for it.
 */
export function chooseWindow<Facts extends WindowFacts>(
  windows: Facts[],
  target: CaptureTarget,
  inFamily: InFamily,
): Result<Facts, CaptureFailure> {
  const ours = nearestKin(
    windows.filter(window => isMeant(window, target, inFamily)),
    target,
  )
  if (ours.length === 0) return fail({ reason: 'no_window', message: noWindow(target) })
  const shown = ours.filter(({ minimised }) => !minimised)
  const active = shown.find(window => window.active)
  if (active !== undefined) return ok(active)
  const main = topmost(shown.filter(({ dialog }) => !dialog))
  if (main !== null) return ok(main)
  // With its main window put away, a left-over palette is not what is asked for.
  const mainIsAway = ours.some(({ dialog }) => !dialog)
  const other = mainIsAway ? null : topmost(shown)
  if (other !== null) return ok(other)
  return fail({
    reason: 'minimised',
    message: 'the window of the application is minimised or on another desktop',
  })
}

/** A title is given where process ids mean nothing: it then decides alone. */
export function isMeant(
  { pid, title }: Pick<WindowFacts, 'pid' | 'title'>,
  target: CaptureTarget,
  inFamily: InFamily,
): boolean {
  if (target.title !== null) {
    return target.title !== '' && title.toLowerCase().includes(target.title.toLowerCase())
  }
  return target.pid !== null && pid !== null && inFamily(pid)
}

/**
 * A browser or a terminal that the application started is another program: its windows count only
 * where the application's process has none, as that of a launcher.
 */
function nearestKin<Facts extends WindowFacts>(
  windows: Facts[],
  { pid, title }: CaptureTarget,
): readonly Facts[] {
  const own = title === null ? windows.filter(window => window.pid === pid) : []
  return own.length > 0 ? own : windows
}

/**
 * Whose windows may be in a picture of this one. By a title no process is known to be the
 * application's: the ids may be those of a container.
 */
export function ownersWith({ pid }: Pick<WindowFacts, 'pid'>, target: CaptureTarget): InFamily {
  return other => target.title === null && other === pid
}

function topmost<Facts extends WindowFacts>(windows: Facts[]): Facts | null {
  const nearer = (a: Facts, b: Facts): number => b.z - a.z || areaOf(b) - areaOf(a)
  return windows.toSorted(nearer)[0] ?? null
}

function areaOf({ width, height }: WindowFacts): number {
  return width * height
}

function noWindow({ pid, title }: CaptureTarget): string {
  if (title !== null) return `no window has ${JSON.stringify(title)} in its title`
  if (pid === null) return 'it is not known which process is the application'
  return `process ${pid} of the application, and those it started, have no window`
}
