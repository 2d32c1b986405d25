import type { CaptureTarget } from '../backend.ts'
import { type InFamily, isMeant, type WindowFacts } from '../window/choose-window.ts'
import type { WindowCaptureLimits } from '../window-limits.ts'
import type { Desktop } from './display.ts'
import { pidOf, titleOf } from './properties.ts'
import { atoms, replies, requests } from './wire.ts'

/** What is drawn of a window, without the border, in pixels of the screen. */
interface Rectangle {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

export interface X11Window extends WindowFacts, Rectangle {
  /** The window directly on the screen that this one is in: mostly the manager's frame. */
  readonly frame: number
}

/** The state of a window that the manager has put away (ICCCM 4.1.3.1). */
const iconic = 3

/** The windows that may be the application's; details of others are not asked for. */
export async function readWindows(
  desktop: Desktop,
  target: CaptureTarget,
  inFamily: InFamily,
  limits: WindowCaptureLimits,
): Promise<X11Window[]> {
  const read = desktop.clients.map(async id => {
    const [pid, title] = await Promise.all([
      pidOf(desktop.questions, id),
      titleOf(desktop.questions, id),
    ])
    if (!isMeant({ pid, title }, target, inFamily)) return null
    return readWindow(desktop, { id, pid, title }, limits.maxWindowDepth)
  })
  return (await Promise.all(read)).filter(window => window !== null)
}

export async function readWindow(
  desktop: Desktop,
  named: Pick<WindowFacts, 'id' | 'pid' | 'title'>,
  maxDepth: number,
): Promise<X11Window | null> {
  const { questions } = desktop
  const [place, frame, minimised, dialog] = await Promise.all([
    placeOf(desktop, named.id),
    frameOf(desktop, named.id, maxDepth),
    isMinimised(desktop, named.id),
    isDialog(desktop, named.id),
  ])
  if (place === null || frame === null) return null
  const { atoms: names } = questions
  return {
    ...named,
    ...place,
    frame,
    z: desktop.stack.indexOf(frame),
    active: desktop.activeWindow === named.id,
    minimised: minimised || (!place.viewable && names.WM_STATE !== 0),
    dialog,
  }
}

async function placeOf({ questions, screen }: Desktop, id: number) {
  const [geometry, attributes, position] = await Promise.all([
    questions.ask(requests.getGeometry(id)),
    questions.ask(requests.getWindowAttributes(id)),
    questions.ask(requests.translateCoordinates(id, screen.root)),
  ])
  if (geometry === null || attributes === null || position === null) return null
  const { width, height } = replies.geometry(geometry)
  const viewable = replies.attributes(attributes)?.viewable ?? false
  return { ...replies.position(position), width, height, viewable }
}

/** Null when the window is gone, or deeper in others than any manager puts it. */
async function frameOf(
  { questions, screen }: Desktop,
  id: number,
  maxDepth: number,
): Promise<number | null> {
  let at = id
  for (let depth = 0; depth < maxDepth; depth++) {
    const reply = await questions.ask(requests.queryTree(at))
    if (reply === null) return null
    const { parent } = replies.tree(reply)
    if (parent === screen.root) return at
    if (parent === 0) return null
    at = parent
  }
  return null
}

async function isMinimised({ questions }: Desktop, id: number): Promise<boolean> {
  const { atoms: names, numbers } = questions
  const [[state], states] = await Promise.all([
    numbers(id, names.WM_STATE),
    numbers(id, names._NET_WM_STATE),
  ])
  return state === iconic || states.includes(names._NET_WM_STATE_HIDDEN)
}

/**
 * The first type that is known counts; one without a type is a dialog when it belongs to another.
 */
async function isDialog({ questions }: Desktop, id: number): Promise<boolean> {
  const { atoms: names, numbers } = questions
  const [types, [owner = 0]] = await Promise.all([
    numbers(id, names._NET_WM_WINDOW_TYPE),
    numbers(id, atoms.wmTransientFor),
  ])
  const normal = names._NET_WM_WINDOW_TYPE_NORMAL
  return types.length > 0 ? !types.includes(normal) : owner !== 0
}

/** Something directly on the screen, above the window that is meant. */
export interface Above extends Rectangle {
  /** Its process is the application's: what it shows is the application's, too. */
  readonly ours: boolean
}

export type Hidden = 'covered' | 'off_screen'

/** Without a compositor a window is captured from the screen, so other windows may cover it. */
export function whatHides(
  window: Rectangle,
  screen: { width: number; height: number },
  above: Above[],
): Hidden | null {
  if (above.some(other => !other.ours && overlap(window, other))) return 'covered'
  const inside =
    window.x >= 0 &&
    window.y >= 0 &&
    window.x + window.width <= screen.width &&
    window.y + window.height <= screen.height
  return inside ? null : 'off_screen'
}

function overlap(a: Rectangle, b: Rectangle): boolean {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height
}

/**
 * What lies above a window, menus and tooltips included, which no window manager lists. A window
 * that is not in the stack any more has everything above it.
 */
export async function readAbove(
  desktop: Desktop,
  window: Pick<X11Window, 'id' | 'frame'>,
  inFamily: InFamily,
  maxDepth: number,
): Promise<Above[]> {
  const frames = await readFrames(desktop, maxDepth)
  const isOurs = async (id: number): Promise<boolean> => {
    const pid = await pidOf(desktop.questions, id)
    return pid !== null && inFamily(pid)
  }
  const look = async (id: number, owners: number[]): Promise<Above | null> => {
    const place = await shownPlace(desktop, id)
    return place && { ...place, ours: (await Promise.all(owners.map(isOurs))).every(Boolean) }
  }
  // Of a frame it is what is in it that counts, not the manager that drew it.
  const higher = desktop.stack.slice(desktop.stack.indexOf(window.frame) + 1)
  const read = higher.map(id => look(id, frames.get(id) ?? [id]))
  return (await Promise.all(read)).filter(other => other !== null)
}

/**
 * Whether the window shares its frame with another program's, as tabs do: which of them is seen
 * there cannot be told, also not with a compositor, which keeps one picture of the whole frame.
 */
export async function sharesFrame(
  desktop: Desktop,
  window: Pick<X11Window, 'id' | 'frame'>,
  inFamily: InFamily,
  maxDepth: number,
): Promise<boolean> {
  const frames = await readFrames(desktop, maxDepth)
  const others = (frames.get(window.frame) ?? []).filter(id => id !== window.id)
  const pids = await Promise.all(others.map(id => pidOf(desktop.questions, id)))
  return pids.some(pid => pid === null || !inFamily(pid))
}

/** What windows of applications are in a window that is directly on the screen. */
async function readFrames(desktop: Desktop, maxDepth: number): Promise<Map<number, number[]>> {
  const frames = new Map<number, number[]>()
  const found = desktop.clients.map(async client => {
    const frame = await frameOf(desktop, client, maxDepth)
    if (frame !== null) frames.set(frame, [...(frames.get(frame) ?? []), client])
  })
  await Promise.all(found)
  return frames
}

/** With its border; null when nothing of it is to be seen. */
async function shownPlace({ questions }: Desktop, id: number): Promise<Rectangle | null> {
  const [attributes, geometry] = await Promise.all([
    questions.ask(requests.getWindowAttributes(id)),
    questions.ask(requests.getGeometry(id)),
  ])
  if (attributes === null || geometry === null) return null
  const shown = replies.attributes(attributes)
  if (shown === null || !shown.viewable || !shown.drawn) return null
  const { x, y, width, height, border } = replies.geometry(geometry)
  return { x, y, width: width + 2 * border, height: height + 2 * border }
}
