import type { AppReply } from './app-answer.ts'

/** The answer that announced the picture, and its bytes. */
export interface ArrivedPicture {
  readonly reply: AppReply
  readonly png: Buffer
}

/**
 * An answer with `png_bytes` and the binary frame that must follow it at once: nothing else tells
 * a picture from the bytes of an artefact, which may be on their way at the same time.
 */
export class PictureFrame {
  #announced: { readonly reply: AppReply; readonly bytes: number } | null = null

  get isDue(): boolean {
    return this.#announced !== null
  }

  /** Does the answer announce a picture? A text: it cannot be told what would follow. */
  announce(reply: AppReply): boolean | string {
    const bytes = reply.type === 'ok' ? (reply['png_bytes'] ?? null) : null
    if (bytes === null) return false
    if (!Number.isSafeInteger(bytes) || Number(bytes) < 1) {
      return '/png_bytes must be a whole number, 1 or more'
    }
    this.#announced = { reply, bytes: Number(bytes) }
    return true
  }

  /** The frame that was due; a text when it is another one. */
  take(png: Buffer): ArrivedPicture | string {
    const announced = this.#announced
    this.#announced = null
    if (announced === null) return 'a binary frame came without an announcement'
    if (png.length === announced.bytes) return { reply: announced.reply, png }
    return `a picture of ${png.length} bytes came, ${announced.bytes} were announced`
  }
}
