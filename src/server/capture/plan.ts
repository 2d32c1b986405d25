import type { CaptureMode } from './options.ts'
import { type Result, fail, ok } from '../../lib/util/result.ts'
import type { BackendName, CaptureFailure, CaptureTarget, Unavailable } from './backend.ts'

export type Probed = Result<null, Unavailable>

/**
 * `auto` prefers what the user sees, menus and dialogs included; the application's own drawing
 * comes next, when nothing can capture from outside.
 */
const orders: Readonly<Record<CaptureMode, readonly BackendName[]>> = {
  auto: ['native', 'x11', 'host'],
  host: ['host'],
  native: ['native'],
  x11: ['x11'],
  off: [],
}

export function backendOrder(mode: CaptureMode): readonly BackendName[] {
  return orders[mode]
}

interface PlanFacts {
  readonly mode: CaptureMode
  /** The window to capture, or why there is none; used by backends that capture from outside. */
  readonly target: Result<CaptureTarget, Unavailable>
  /** What each said last; absent: it did not say anything yet, or it is not there. */
  readonly probes: ReadonlyMap<BackendName, Probed>
}

const switchedOff: Unavailable = {
  reason: 'off',
  message: 'window capture is switched off',
  hint: 'start the server without --capture off',
}

const notTriedYet: Unavailable = {
  reason: 'not_tried',
  message: 'the ways to a picture of the window are still being tried',
  hint: 'read again in a moment',
}

/** Those that can be tried, best first; or why there are none. */
export function planCapture({
  mode,
  target,
  probes,
}: PlanFacts): Result<readonly BackendName[], Unavailable> {
  if (mode === 'off') return fail(switchedOff)
  // What a backend said before must not outlive the person's word.
  if (!target.ok && target.failure.reason === 'denied') return target
  const order = backendOrder(mode)
  const states = order.map(name => {
    const probed = probes.get(name) ?? fail(notTriedYet)
    return { name, state: name === 'host' || target.ok || !probed.ok ? probed : target }
  })
  const usable = states.filter(({ state }) => state.ok).map(({ name }) => name)
  if (usable.length > 0) return ok(usable)
  if (!target.ok && mode !== 'host') return fail(target.failure)
  // That the application does not draw itself says least of what there is to do.
  const failures = states.flatMap(({ state }) => (state.ok ? [] : [state.failure]))
  return fail(outsideTrouble(mode, probes) ?? failures[0] ?? notTriedYet)
}

/** Why no backend can capture from outside; null: one can, or it is not known yet. */
export function outsideTrouble(mode: CaptureMode, probes: PlanFacts['probes']): Unavailable | null {
  const failures: Unavailable[] = []
  for (const name of backendOrder(mode)) {
    const probed = name === 'host' ? undefined : probes.get(name)
    if (probed?.ok) return null
    if (probed !== undefined) failures.push(probed.failure)
  }
  return failures.find(({ reason }) => reason !== 'not_installed') ?? failures[0] ?? null
}

type Reason = CaptureFailure['reason']

/** Reasons that hold for every backend that captures the screen from outside. */
const sameFromOutside: ReadonlySet<Reason> = new Set(['covered', 'minimised'])

/** The remaining backends that may still give a picture after such a failure. */
export function nextBackends(
  reason: Reason,
  remaining: readonly BackendName[],
): readonly BackendName[] {
  return sameFromOutside.has(reason) ? remaining.filter(name => name === 'host') : remaining
}

const passing: ReadonlySet<Reason> = new Set([
  'minimised',
  'covered',
  'no_window',
  'blank',
  'host_busy',
])

/** Whether the failure puts in question that the backend works at all. */
export function isDoubtful(reason: Reason): boolean {
  return !passing.has(reason)
}

const vague: ReadonlySet<Reason> = new Set(['failed', 'timeout'])

/** Returns the failure that tells the reader most: the first that names a cause. */
export function tellingFailure(failures: CaptureFailure[]): CaptureFailure {
  return (
    failures.find(({ reason }) => !vague.has(reason)) ??
    failures[0] ?? { reason: 'failed', message: 'no way to a picture of the window is left' }
  )
}
