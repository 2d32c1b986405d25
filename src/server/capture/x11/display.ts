import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { homedir, hostname } from 'node:os'
import { join } from 'node:path'
import { noWait } from '../../../lib/util/posix.ts'
import { fail, ok, type Result } from '../../../lib/util/result.ts'
import type { WindowCaptureLimits } from '../window-limits.ts'
import { openConnection, type X11Connection } from './connection.ts'
import { parseDisplayName } from './display-name.ts'
import { chooseKey, parseXauthority } from './xauthority.ts'

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

/** Nothing when there is no such file: many displays of a person's own machine need no key. */
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
