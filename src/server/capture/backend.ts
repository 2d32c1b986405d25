import type { PictureShot } from '../../lib/host-link/wire.ts'
import type { JsonObject } from '../../lib/util/json.ts'
import type { Result } from '../../lib/util/result.ts'

/** The application draws its window itself, or the package node-screenshots takes its picture. */
export type BackendName = 'host' | 'native'

/** The values of `serve --capture`. */
export const captureModes = ['auto', 'host', 'native', 'off'] as const

export type CaptureMode = (typeof captureModes)[number]

/** Whose window is meant: never that of another program. */
export interface CaptureTarget {
  /** The process of the linked application; null: not known here. */
  readonly pid: number | null
  /** Part of a title, for where process ids of the application mean nothing; null: not given. */
  readonly title: string | null
}

/** Why a backend cannot be used at all, and what would change that. */
export interface Unavailable {
  /** Short and stable: `no_display`, `no_compositor`, `not_installed`, `no_application`. */
  readonly reason: string
  /** One sentence for people. */
  readonly message: string
  /** What to install or to do. */
  readonly hint: string
}

/** Why a picture could not be taken now; `reason` is what readers get in `data.reason`. */
export interface CaptureFailure {
  readonly reason:
    | 'minimised'
    | 'no_window'
    | 'no_display'
    | 'permission'
    | 'timeout'
    | 'blank'
    | 'host_busy'
    | 'host_disconnected'
    | 'not_found'
    | 'failed'
  readonly message: string
  /** What the application said of its own failure: for the log. */
  readonly detail?: string
}

export interface CaptureForm {
  /** Pixels; a wider window is scaled down to it. */
  readonly maxWidth: number
  /** Bytes of the PNG file; a larger one is scaled down until it fits. */
  readonly maxBytes: number
  readonly signal: AbortSignal
  /** Where the view of the scene is drawn from; absent: as it is on the screen. */
  readonly shot?: PictureShot
}

export interface Capture {
  /** A PNG file. */
  readonly png: Buffer
  /** What the application needs to draw the same view again. */
  readonly view?: JsonObject
}

/** One way to a picture. No call throws; none raises, focuses or moves a window. */
export interface CaptureBackend {
  readonly name: BackendName
  /** Whether a picture of this window can be expected; without side effects, a second at most. */
  probe(target: CaptureTarget): Promise<Result<null, Unavailable>>
  capture(target: CaptureTarget, form: CaptureForm): Promise<Result<Capture, CaptureFailure>>
  /** The 3D view alone, which cannot be told from the rest of the window from outside. */
  readonly viewport?: {
    /** Answers from memory. */
    offered(): boolean
    capture(form: CaptureForm): Promise<Result<Capture, CaptureFailure>>
  }
}
