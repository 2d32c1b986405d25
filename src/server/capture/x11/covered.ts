import type { InFamily } from '../window/choose-window.ts'
import type { Desktop } from './desktop.ts'
import { pidOf } from './properties.ts'
import { frameOf, type Rectangle, type X11Window } from './windows.ts'
import { replies, requests } from './wire.ts'

/** Something directly on the screen, above the window that is meant. */
export interface Above extends Rectangle {
  /** Its process is the application's: what it shows is the application's, too. */
  readonly ours: boolean
}

export type Hidden = 'covered' | 'off_screen'

/** Without a compositor a window has no picture of its own: what is on the screen is taken. */
export function whatHides(
  window: Rectangle,
  screen: { readonly width: number; readonly height: number },
  above: readonly Above[],
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
  const look = async (id: number, owners: readonly number[]): Promise<Above | null> => {
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
