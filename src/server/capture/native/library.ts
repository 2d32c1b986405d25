import { fail, ok, type Result } from '../../../lib/util/result.ts'
import type { CaptureFailure, Unavailable } from '../backend.ts'
import { messageOf } from '../../../lib/util/errors.ts'
import { cleanText } from '../../../lib/util/text.ts'

/** What is used of the package node-screenshots. Every call may throw, for any window. */
export interface NativeLibrary {
  readonly Window: { all(): NativeWindow[] }
}

export interface NativeWindow {
  id(): number
  pid(): number
  title(): string
  /** Greater is nearer to the eye. */
  z(): number
  width(): number
  height(): number
  isMinimized(): boolean
  isFocused(): boolean
  captureImage(): Promise<NativeImage>
}

interface NativeImage {
  readonly width: number
  readonly height: number
  /** Four bytes a pixel: red, green, blue, transparency. */
  toRaw(): Promise<Uint8Array>
}

/** An optional dependency: it may be missing, or lack a library of the system. */
export async function loadLibrary(
  load: () => Promise<unknown>,
): Promise<Result<NativeLibrary, Unavailable>> {
  try {
    const module = (await load()) as { default?: unknown } & Partial<NativeLibrary>
    const library = (module.Window ? module : module.default) as Partial<NativeLibrary> | undefined
    if (typeof library?.Window?.all !== 'function') return fail(unusable('it has another form'))
    return ok(library as NativeLibrary)
  } catch (error) {
    return fail(isMissing(error) ? missing : unusable(whyUnusable(error)))
  }
}

function isMissing(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error)) return false
  // Of the package itself, not of a file for this system that it did not find.
  return error.code === 'ERR_MODULE_NOT_FOUND' && error.message.includes("'node-screenshots'")
}

const missing: Unavailable = {
  reason: 'not_installed',
  message: 'the package node-screenshots is not installed',
  hint: 'npm install --global node-screenshots, or without --global as service-cli was installed',
}

function unusable(why: string): Unavailable {
  return {
    reason: 'not_installed',
    message: `the package node-screenshots cannot be loaded: ${why}`,
    hint: 'install it again for this system and version of Node; on Linux it needs libxcb1 and libdbus-1-3',
  }
}

/** The loader tries several files: the interesting reason is often not the outermost. */
function whyUnusable(error: unknown): string {
  let at: unknown = error
  for (let depth = 0; depth < 10 && at instanceof Error; depth++, at = at.cause) {
    const [library] = /\blib[\w.+-]+\.(?:so[.\d]*|dylib)(?=: cannot open)/.exec(at.message) ?? []
    if (library !== undefined) return `${library} is missing`
  }
  return 'there is no build of it for this system'
}

export const permission: CaptureFailure = {
  reason: 'permission',
  message:
    'macOS does not let this program see other windows: allow it in System Settings, Privacy & Security, Screen & System Audio Recording, for the terminal that serve runs in, and start both again',
}

/** The library throws texts: these are the ones that mean more than that it failed. */
const noManager = /_NET_CLIENT_LIST_STACKING/
const noDisplay = /display string|Connection closed|connect.*display/i

/** Why windows cannot be listed at all. */
export function failureOfListing(error: unknown): CaptureFailure {
  const text = textOf(error)
  if (noManager.test(text)) {
    return { reason: 'failed', message: 'no window manager runs on the display' }
  }
  if (noDisplay.test(text)) {
    return { reason: 'no_display', message: 'there is no display, or it refused the connection' }
  }
  return { reason: 'failed', message: `the windows cannot be listed: ${text}` }
}

export function unavailableOfListing(error: unknown): Unavailable {
  const text = textOf(error)
  if (noManager.test(text)) {
    const hint = 'start one there, for example openbox'
    return { reason: 'no_window_manager', message: failureOfListing(error).message, hint }
  }
  return {
    reason: noDisplay.test(text) ? 'no_display' : 'failed',
    message: failureOfListing(error).message,
    hint: 'start serve in the session of the desktop',
  }
}

export function failureOfCapture(error: unknown): CaptureFailure {
  const message = `the system gave no picture of the window: ${textOf(error)}`
  return { reason: 'failed', message }
}

function textOf(error: unknown): string {
  return cleanText(messageOf(error), 200)
}
