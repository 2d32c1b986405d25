import { messageOf } from '../../lib/util/errors.ts'
import { fail, ok, type Result } from '../../lib/util/result.ts'
import { cleanText } from '../../lib/util/text.ts'
import type { Window } from 'node-screenshots'
import type {
  Capture,
  CaptureBackend,
  CaptureFailure,
  CaptureForm,
  CaptureTarget,
  Unavailable,
} from './backend.ts'
import { checkCompositor } from './compositor.ts'
import { encode, fitPng } from './pictures.ts'

const isLinux = process.platform === 'linux'

/** The optional package node-screenshots, which takes pictures of windows from outside. */
export const nativeBackend: CaptureBackend = {
  name: 'native',
  async probe(target) {
    const windows = await listWindows()
    if (!windows.ok) return windows
    if (findWindows(windows.value, target).length > 0) return ok(null)
    const hint = 'open a window in the application'
    return fail({ reason: 'no_window', message: noWindow(target), hint })
  },
  async capture(target, form) {
    const windows = await listWindows()
    if (!windows.ok) return fail(failureOf(windows.failure))
    const [window] = findWindows(windows.value, target)
    if (window === undefined) return fail({ reason: 'no_window', message: noWindow(target) })
    if (asked(() => window.isMinimized()) === true) return fail(minimised)
    try {
      return await grab(window, form)
    } catch (error) {
      const text = cleanText(messageOf(error), 200)
      const message = `the system gave no picture of the window: ${text}`
      return fail({ reason: 'failed', message })
    }
  },
}

/** All windows that can be captured here, those of other programs included. */
export async function listWindows(): Promise<Result<readonly Window[], Unavailable>> {
  const composited = isLinux ? await checkCompositor(process.env) : ok(null)
  if (!composited.ok) return composited
  let library: typeof import('node-screenshots')
  try {
    library = await import('node-screenshots')
  } catch {
    return fail(notInstalled)
  }
  try {
    return ok(library.Window.all())
  } catch (error) {
    return fail(unlisted(cleanText(messageOf(error), 200)))
  }
}

const notInstalled: Unavailable = {
  reason: 'not_installed',
  message: 'the package node-screenshots is not installed, or has no build that loads here',
  hint: 'npm install --global node-screenshots, or without --global as service-cli was installed; on Linux it needs libxcb1 and libdbus-1-3',
}

function unlisted(text: string): Unavailable {
  if (text.includes('_NET_CLIENT_LIST_STACKING')) {
    const message = 'no window manager runs on the display, so its windows are not listed'
    return { reason: 'no_window_manager', message, hint: 'start one there, for example openbox' }
  }
  const message = `the windows cannot be listed: ${text}`
  return { reason: 'failed', message, hint: 'start serve again in the session of the desktop' }
}

function failureOf({ reason, message }: Unavailable): CaptureFailure {
  return { reason: reason === 'no_display' ? 'no_display' : 'failed', message }
}

const minimised: CaptureFailure = {
  reason: 'minimised',
  message: 'the window of the application is minimised or on another desktop',
}

/**
 * The largest first: preferences, dialogs and palettes are smaller than the main window. A title is
 * given where process ids mean nothing: it then decides alone.
 */
function findWindows(windows: readonly Window[], { pid, title }: CaptureTarget) {
  const isCandidate = (window: Window) =>
    title === null
      ? asked(() => window.pid()) === pid
      : asked(() => window.title())
          ?.toLowerCase()
          .includes(title.toLowerCase())
  return windows.filter(isCandidate).toSorted((one, other) => areaOf(other) - areaOf(one))
}

function areaOf(window: Window): number {
  return (asked(() => window.width()) ?? 0) * (asked(() => window.height()) ?? 0)
}

/** A window may be gone, or have no answer, at any question. */
function asked<Value>(question: () => Value): Value | null {
  try {
    return question()
  } catch {
    return null
  }
}

function noWindow({ pid, title }: CaptureTarget): string {
  if (title !== null) return `no window has ${JSON.stringify(title)} in its title`
  return `process ${pid} of the application has no window that can be seen from here`
}

async function grab(window: Window, form: CaptureForm): Promise<Result<Capture, CaptureFailure>> {
  const image = await window.captureImage()
  // The compositor may have ended meanwhile.
  const composited = isLinux ? await checkCompositor(process.env) : ok(null)
  if (!composited.ok) return fail(failureOf(composited.failure))
  const { width, height } = image
  const bytes = await image.toRaw()
  if (isBlank(bytes)) {
    const message = `the picture of the window is of one colour: nothing is drawn in it yet${onMac}`
    return fail({ reason: 'blank', message })
  }
  // The package itself makes larger files, and none of another size.
  const made =
    (await encode({ bytes, width, height, channels: 4 }, form, 'png'))?.data ??
    (await fitPng(await image.toPng(), form))?.png
  if (made !== undefined) return ok({ png: made })
  const size = `${width} x ${height}`
  const message = `the picture of ${size} pixels must be made smaller, which needs the package sharp`
  return fail({ reason: 'failed', message })
}

const onMac =
  process.platform === 'darwin'
    ? ', or macOS withholds it: allow the terminal of serve in System Settings, Privacy & Security, Screen & System Audio Recording'
    : ''

/** Four bytes a pixel. A window that nothing was drawn in yet has one colour only. */
function isBlank(bytes: Uint8Array): boolean {
  const pixels = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4)
  return pixels.every(pixel => pixel === pixels[0])
}
