import { HostBusy, HostLinkError } from './errors.ts'
import { type PictureOffer, type PictureTarget, pictureTargets } from './wire.ts'

/** What the server asks for. */
export interface PictureQuestion {
  /** The whole window, or the view of the scene alone. */
  readonly target: PictureTarget
  /** Pixels: a wider picture is refused. */
  readonly maxWidth: number
  /** Bytes of the file: a larger one is refused. */
  readonly maxBytes: number
  /** Fires when nobody waits for the picture any more. */
  readonly signal: AbortSignal
}

export interface HostPicture {
  /** A PNG file. */
  readonly png: Uint8Array
  /** The window as it is, when the picture was scaled down. */
  readonly window?: { readonly title?: string; readonly width: number; readonly height: number }
}

/**
 * Takes a picture of the application. Throws `PictureUnavailable` or `HostBusy`; of anything else
 * the reader learns only that it failed.
 */
export type PictureHandler = (
  question: PictureQuestion,
) => HostPicture | Uint8Array | Promise<HostPicture | Uint8Array>

export interface PictureOptions {
  /** What it can show. Default: the window alone. */
  readonly targets?: readonly PictureTarget[]
}

/** What the application offers of pictures, and one being taken. */
export class Pictures {
  #handler: PictureHandler | null = null
  #targets: readonly PictureTarget[] = []
  #denied = false
  #isTaking = false

  get offer(): PictureOffer {
    const targets = this.#denied ? [] : this.#targets
    return this.#denied ? { targets, denied: true } : { targets }
  }

  provide(handler: PictureHandler, { targets = ['window'] }: PictureOptions): void {
    if (typeof handler !== 'function') throw new TypeError('the handler must be a function')
    const known: readonly string[] = pictureTargets
    if (!Array.isArray(targets) || !targets.every(target => known.includes(target))) {
      throw new TypeError(`targets must be an array of ${known.join(' and ')}`)
    }
    if (this.#handler !== null) throw new TypeError('pictures are provided already')
    this.#handler = handler
    this.#targets = [...targets]
  }

  /** False when it was not the one that is asked. */
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
      throw new HostLinkError('unsupported', `there is no picture of the ${question.target}`)
    }
    // One that nobody waits for any more may still be at it.
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
    throw new TypeError('a picture must have the bytes of a PNG file')
  }
  if (png.length <= maxBytes) return picture
  const said = `the picture has ${png.length} bytes, at most ${maxBytes} were asked for`
  throw new HostLinkError('limit', said)
}
