import { HostBusy, HostLinkError } from './errors.ts'
import type { JsonObject } from '../util/json.ts'
import { type PictureOffer, type PictureShot, type PictureTarget, pictureTargets } from './wire.ts'

/** A request for a picture. */
export interface PictureQuestion {
  /** The whole window, or only the view of the scene. */
  readonly target: PictureTarget
  /** Where the picture is taken from; absent: as it is on the screen. Only with `shots`. */
  readonly shot?: PictureShot
  /** Pixels: a wider picture is refused. */
  readonly maxWidth: number
  /** Bytes of the file: a larger one is refused. */
  readonly maxBytes: number
  /** Aborted when the client no longer waits for the picture. */
  readonly signal: AbortSignal
}

export interface HostPicture {
  /** A PNG file. */
  readonly png: Uint8Array
  /** The real size of the window when the picture was scaled down. */
  readonly window?: { readonly title?: string; readonly width: number; readonly height: number }
  /** What the application needs to take the same picture again: it gets it back in a `shot`. */
  readonly view?: JsonObject
}

/**
 * Takes a picture of the application. Throws `PictureUnavailable` or `HostBusy`; the details of
 * other errors are hidden from clients.
 */
export type PictureHandler = (
  question: PictureQuestion,
) => HostPicture | Uint8Array | Promise<HostPicture | Uint8Array>

export interface PictureOptions {
  /** What the handler can show. Default: only the window. */
  readonly targets?: readonly PictureTarget[]
  /** It draws the viewport from where a `shot` says, too. Default: false. */
  readonly shots?: boolean
}

/** The picture offer of the application; takes one picture at a time. */
export class Pictures {
  #handler: PictureHandler | null = null
  #targets: readonly PictureTarget[] = []
  #shots = false
  #denied = false
  #isTaking = false

  get offer(): PictureOffer {
    if (this.#denied) return { targets: [], denied: true }
    return { targets: this.#targets, ...(this.#shots && { shots: true }) }
  }

  provide(handler: PictureHandler, { targets = ['window'], shots = false }: PictureOptions): void {
    if (typeof handler !== 'function') throw new TypeError('the handler must be a function')
    const known: readonly string[] = pictureTargets
    if (!Array.isArray(targets) || !targets.every(target => known.includes(target))) {
      throw new TypeError(`targets must be an array of ${known.join(' and ')}`)
    }
    if (this.#handler !== null) throw new TypeError('pictures are already provided')
    this.#handler = handler
    this.#targets = [...targets]
    this.#shots = shots
  }

  /** Returns false for a handler that is not the current one. */
  withdraw(handler: PictureHandler): boolean {
    if (this.#handler !== handler) return false
    this.#handler = null
    this.#targets = []
    return true
  }

  deny(denied: boolean): void {
    this.#denied = denied
  }

  /** Throws a `HostLinkError`, a `TypeError`, or what the handler threw. */
  async take(question: PictureQuestion): Promise<HostPicture> {
    const handler = this.#handler
    if (handler === null || !this.offer.targets.includes(question.target)) {
      throw new HostLinkError('unsupported', `no pictures of the ${question.target} are offered`)
    }
    // An aborted handler may still be running.
    if (this.#isTaking) throw new HostBusy('a picture is being taken')
    this.#isTaking = true
    try {
      const taken = await handler(question)
      return checked(taken instanceof Uint8Array ? { png: taken } : taken, question)
    } finally {
      this.#isTaking = false
    }
  }
}

function checked(picture: HostPicture, { maxBytes }: PictureQuestion): HostPicture {
  const { png } = picture
  if (!(png instanceof Uint8Array) || png.length === 0) {
    throw new TypeError('a picture must contain the bytes of a PNG file')
  }
  if (png.length <= maxBytes) return picture
  const said = `the picture has ${png.length} bytes, at most ${maxBytes} were asked for`
  throw new HostLinkError('limit', said)
}
