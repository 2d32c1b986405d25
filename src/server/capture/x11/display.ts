import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { homedir, hostname } from 'node:os'
import { join } from 'node:path'
import { noWait } from '../../../lib/util/posix.ts'
import { fail, ok, type Result } from '../../../lib/util/result.ts'
import type { WindowCaptureLimits } from '../window-limits.ts'
import { openConnection, type X11Connection } from './connection.ts'
import { chooseKey, parseDisplayName, parseXauthority, type Screen } from './setup.ts'
import { askAbout, atomOf, type Questions } from './properties.ts'
import { none, replies, requests } from './wire.ts'
import { messageOf } from '../../../lib/util/errors.ts'
import type { Unavailable } from '../backend.ts'

/** Where the display is and who may speak to it, as `serve` found it in its environment. */
export type DisplayEnvironment = Readonly<
  Partial<Record<'DISPLAY' | 'XAUTHORITY' | 'WAYLAND_DISPLAY', string>>
>

export interface OpenDisplay {
  readonly connection: X11Connection
  readonly screenNumber: number
}

/** What is wrong otherwise, in one sentence. */
export async function openDisplay(
  env: DisplayEnvironment,
  limits: WindowCaptureLimits,
  signal: AbortSignal,
): Promise<Result<OpenDisplay, string>> {
  const display = parseDisplayName(env.DISPLAY)
  if (!display.ok) return display
  const path = env.XAUTHORITY || join(homedir(), '.Xauthority')
  const keys = parseXauthority(await readKeys(path, limits.maxXauthorityBytes))
  const opened = await openConnection(display.value, {
    key: chooseKey(keys, display.value, hostname()),
    maxAnswerBytes: limits.maxWindowPixels * 4 + 1024,
    signal,
  })
  if (!opened.ok) return fail(`display ${env.DISPLAY} does not let us in: ${opened.failure}`)
  return ok({ connection: opened.value, screenNumber: display.value.screen })
}

/** Empty when there is no such file: many local displays need no key. */
async function readKeys(path: string, maxBytes: number): Promise<Buffer> {
  try {
    await using file = await open(path, constants.O_RDONLY | noWait)
    const stats = await file.stat()
    if (!stats.isFile() || stats.size > maxBytes) return Buffer.alloc(0)
    return await file.readFile()
  } catch {
    return Buffer.alloc(0)
  }
}

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

type DesktopFailure = 'no_screen' | 'no_window_manager'

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

async function readStack({ ask }: Questions, root: number): Promise<number[]> {
  const reply = await ask(requests.queryTree(root))
  return reply === null ? [] : replies.tree(reply).children
}

/** Whether windows of an X display can be seen from here. */
export async function probeDisplay(
  env: DisplayEnvironment,
  limits: WindowCaptureLimits,
): Promise<Result<null, Unavailable>> {
  // The contract of a probe: a second at most.
  const signal = AbortSignal.timeout(Math.min(limits.displayTimeoutMs, 1000))
  const opened = await openDisplay(env, limits, signal)
  if (!opened.ok) return fail(noDisplay(opened.failure, env))
  const { connection, screenNumber } = opened.value
  try {
    const desktop = await readDesktop(connection, screenNumber, limits)
    if (desktop.ok) return ok(null)
    return fail(
      desktop.failure === 'no_screen'
        ? noDisplay(`display ${env.DISPLAY} has no screen ${screenNumber}`, env)
        : noWindowManager(env),
    )
  } catch (error) {
    return fail(noDisplay(messageOf(error), env))
  } finally {
    connection.close()
  }
}

function noDisplay(message: string, env: DisplayEnvironment): Unavailable {
  const hint = env.WAYLAND_DISPLAY
    ? 'windows of Wayland itself cannot be seen from outside: start the application under XWayland, or let it draw itself through its add-on'
    : 'start serve in the session of the desktop, with its DISPLAY and XAUTHORITY'
  return { reason: 'no_display', message, hint }
}

function noWindowManager(env: DisplayEnvironment): Unavailable {
  return {
    reason: 'no_window_manager',
    message: `no window manager runs on display ${env.DISPLAY}, so its windows are not listed`,
    hint: 'start one there, for example openbox',
  }
}
