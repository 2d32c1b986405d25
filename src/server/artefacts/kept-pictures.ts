/** A smaller picture of an artefact. */
export interface SmallerPicture {
  readonly png: Uint8Array
  readonly width: number
  readonly height: number
}

/** Previews of about 300 files: what a list of files shows. */
const maxKeptBytes = 16 * 1024 * 1024
/** One larger than a preview is made again. */
const maxPictureBytes = 256 * 1024

/** The smaller pictures made last: a file under its hash never changes. */
export class KeptPictures {
  readonly #kept = new Map<string, SmallerPicture>()
  #bytes = 0

  get(hex: string, maxWidth: number): SmallerPicture | undefined {
    return this.#kept.get(keyOf(hex, maxWidth))
  }

  add(hex: string, maxWidth: number, picture: SmallerPicture): void {
    const { length } = picture.png
    if (length > maxPictureBytes || this.get(hex, maxWidth) !== undefined) return
    this.#kept.set(keyOf(hex, maxWidth), picture)
    this.#bytes += length
    for (const [key, { png }] of this.#kept) {
      if (this.#bytes <= maxKeptBytes) return
      this.#kept.delete(key)
      this.#bytes -= png.length
    }
  }
}

function keyOf(hex: string, maxWidth: number): string {
  return `${hex} ${maxWidth}`
}
