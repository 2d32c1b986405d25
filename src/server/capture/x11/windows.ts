import type { CaptureTarget } from '../backend.ts'
import { type InFamily, isMeant, type WindowFacts } from '../window/choose-window.ts'
import type { WindowCaptureLimits } from '../window-limits.ts'
import type { Desktop } from './desktop.ts'
import { pidOf, titleOf } from './properties.ts'
import { atoms, replies, requests } from './wire.ts'

/** What is drawn of a window, without the border, in pixels of the screen. */
export interface Rectangle {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

export interface X11Window extends WindowFacts, Rectangle {
  /** The window directly on the screen that this one is in: mostly the manager's frame. */
  readonly frame: number
}

/** Of a window that the manager has put away (ICCCM 4.1.3.1). */
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
export async function frameOf(
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

/** The first type that is known counts; one without a type is a dialog when it belongs to another. */
async function isDialog({ questions }: Desktop, id: number): Promise<boolean> {
  const { atoms: names, numbers } = questions
  const [types, [owner = 0]] = await Promise.all([
    numbers(id, names._NET_WM_WINDOW_TYPE),
    numbers(id, atoms.wmTransientFor),
  ])
  const normal = names._NET_WM_WINDOW_TYPE_NORMAL
  return types.length > 0 ? !types.includes(normal) : owner !== 0
}
