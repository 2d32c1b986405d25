import { fail, ok, type Result } from '../../../lib/util/result.ts'
import type { CaptureFailure, CaptureTarget } from '../backend.ts'
import { makePicture, type Picture, type PictureForm } from '../png/make-picture.ts'
import { rgbaLayout } from '../png/pixels.ts'
import { chooseWindow, type InFamily, isMeant, type WindowFacts } from '../window/choose-window.ts'
import {
  failureOfCapture,
  failureOfListing,
  type NativeLibrary,
  type NativeWindow,
  permission,
} from './library.ts'

export interface NativePicture {
  readonly picture: Picture
  readonly window: { readonly title: string; readonly width: number; readonly height: number }
}

export interface PictureRequest {
  /** Known where the display was asked beforehand; null: the library's own list is gone by. */
  readonly id: number | null
  readonly target: CaptureTarget
  readonly form: PictureForm
  readonly maxPixels: number
}

/** Blocks for tens of milliseconds in places: not for the main thread. Never throws. */
export async function takePicture(
  library: NativeLibrary,
  { id, target, form, maxPixels }: PictureRequest,
  inFamily: InFamily,
  platform: NodeJS.Platform,
): Promise<Result<NativePicture, CaptureFailure>> {
  let windows: NativeWindow[]
  try {
    windows = library.Window.all()
  } catch (error) {
    return fail(failureOfListing(error))
  }
  const found = id === null ? find(windows, target, inFamily, platform) : ok(id)
  if (!found.ok) return found
  const window = windows.find(candidate => asked(() => candidate.id()) === found.value)
  if (window === undefined) return fail({ reason: 'no_window', message: 'the window is gone' })
  const [width, height] = [asked(() => window.width()) ?? 0, asked(() => window.height()) ?? 0]
  if (width * height > maxPixels) {
    const message = `the window has ${width} x ${height} pixels, more than ${maxPixels}`
    return fail({ reason: 'failed', message })
  }
  return shoot(window, form, platform)
}

function find(
  windows: NativeWindow[],
  target: CaptureTarget,
  inFamily: InFamily,
  platform: NodeJS.Platform,
): Result<number, CaptureFailure> {
  const chosen = chooseWindow(listWindows(windows, target, inFamily), target, inFamily)
  if (chosen.ok) return ok(chosen.value.id)
  // macOS tells the titles of other programs' windows only with the permission, and the library
  // lists only windows whose title it is told.
  const untold = windows.every(window => titleOf(window) === '')
  if (platform === 'darwin' && chosen.failure.reason === 'no_window' && untold) {
    return fail(permission)
  }
  return chosen
}

async function shoot(
  window: NativeWindow,
  form: PictureForm,
  platform: NodeJS.Platform,
): Promise<Result<NativePicture, CaptureFailure>> {
  try {
    const image = await window.captureImage()
    const { width, height } = image
    const bytes = await image.toRaw()
    const raw = { bytes, width, height, stride: width * 4, layout: rgbaLayout }
    const picture = makePicture(raw, form)
    if (picture.ok) {
      return ok({ picture: picture.value, window: { title: titleOf(window), width, height } })
    }
    // Without the permission macOS gives windows without their contents.
    const withheld = platform === 'darwin' && picture.failure.reason === 'blank'
    return withheld ? fail(permission) : picture
  } catch (error) {
    return fail(failureOfCapture(error))
  }
}

/**
 * The windows that may be the application's. Each question is asked alone, because a window may be
 * gone or have no answer; of others' windows nothing more is asked, as each question costs a look
 * at all windows on some systems.
 */
export function listWindows(
  windows: NativeWindow[],
  target: CaptureTarget,
  inFamily: InFamily,
): WindowFacts[] {
  return windows.flatMap(window => {
    const id = asked(() => window.id())
    const pid = target.title === null ? pidOf(window) : null
    const title = target.title === null ? '' : titleOf(window)
    if (id === null || !isMeant({ pid, title }, target, inFamily)) return []
    const width = asked(() => window.width())
    const height = asked(() => window.height())
    if (width === null || height === null) return []
    return {
      id,
      pid: pidOf(window),
      title: titleOf(window),
      width,
      height,
      z: asked(() => window.z()) ?? 0,
      active: asked(() => window.isFocused()) ?? false,
      minimised: asked(() => window.isMinimized()) ?? false,
      // The library does not tell what kind of a window it is.
      dialog: false,
    }
  })
}

function pidOf(window: NativeWindow): number | null {
  const pid = asked(() => window.pid())
  return pid !== null && pid > 0 ? pid : null
}

function titleOf(window: NativeWindow): string {
  return asked(() => window.title())?.replace(/\p{Cc}+/gu, ' ') ?? ''
}

function asked<Value>(question: () => Value): Value | null {
  try {
    return question()
  } catch {
    return null
  }
}
