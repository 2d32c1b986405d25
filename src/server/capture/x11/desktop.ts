import { fail, ok, type Result } from '../../../lib/util/result.ts'
import type { WindowCaptureLimits } from '../window-limits.ts'
import type { X11Connection } from './connection.ts'
import { askAbout, atomOf, type Questions } from './properties.ts'
import type { Screen } from './setup.ts'
import { none, replies, requests } from './wire.ts'

/** One screen of a display, as it was a moment ago. */
export interface Desktop {
  readonly screen: Screen
  /** Windows of applications, as the window manager lists them. */
  readonly clients: readonly number[]
  /** Everything directly on the screen, the lowest first. */
  readonly stack: readonly number[]
  readonly activeWindow: number
  /** Every window has its picture to itself, covered or not. */
  readonly composited: boolean
  readonly questions: Questions
}

export type DesktopFailure = 'no_screen' | 'no_window_manager'

export async function readDesktop(
  connection: X11Connection,
  screenNumber: number,
  limits: WindowCaptureLimits,
): Promise<Result<Desktop, DesktopFailure>> {
  const screen = connection.setup.screens[screenNumber]
  if (screen === undefined) return fail('no_screen')
  const questions = await askAbout(connection, limits.maxPropertyBytes)
  const { atoms, numbers } = questions
  const [manager, stacking, listed, active, stack, composited] = await Promise.all([
    hasWindowManager(questions, screen.root),
    numbers(screen.root, atoms._NET_CLIENT_LIST_STACKING),
    numbers(screen.root, atoms._NET_CLIENT_LIST),
    numbers(screen.root, atoms._NET_ACTIVE_WINDOW),
    readStack(questions, screen.root),
    hasCompositor(connection, screenNumber),
  ])
  const isListed = atoms._NET_CLIENT_LIST_STACKING !== none || atoms._NET_CLIENT_LIST !== none
  if (!manager || !isListed) return fail('no_window_manager')
  const clients = stacking.length > 0 ? stacking : listed
  return ok({
    screen,
    clients: clients.slice(-limits.maxWindows),
    stack,
    activeWindow: active[0] ?? none,
    composited,
    questions,
  })
}

/** What a manager left on the screen stays when it ends; its own window does not. */
async function hasWindowManager({ atoms, numbers }: Questions, root: number): Promise<boolean> {
  const [check] = await numbers(root, atoms._NET_SUPPORTING_WM_CHECK)
  if (check === undefined) return false
  return (await numbers(check, atoms._NET_SUPPORTING_WM_CHECK))[0] === check
}

/** A compositor holds this selection for as long as it runs (EWMH). */
async function hasCompositor(connection: X11Connection, screenNumber: number): Promise<boolean> {
  const selection = await atomOf(connection, `_NET_WM_CM_S${screenNumber}`)
  if (selection === none) return false
  return replies.owner(await connection.ask(requests.getSelectionOwner(selection))) !== none
}

export async function readStack({ ask }: Questions, root: number): Promise<number[]> {
  const reply = await ask(requests.queryTree(root))
  return reply === null ? [] : replies.tree(reply).children
}
