import { hash as hashOf, webcrypto } from 'node:crypto'

/** From here on hashing on another thread costs this one less than hashing itself. */
const minOtherThreadBytes = 256 * 1024

/** Memory for bodies on their way into the cache: used again, because fresh pages cost more than reading. */
export class Scratch {
  readonly #spare: Uint8Array<ArrayBuffer>[] = []

  async use<Value>(
    size: number,
    task: (bytes: Uint8Array<ArrayBuffer>) => Promise<Value>,
  ): Promise<Value> {
    const last = this.#spare.pop()
    const memory =
      last !== undefined && last.byteLength >= size ? last : new Uint8Array(Math.max(size, 1))
    try {
      return await task(memory.subarray(0, size))
    } finally {
      this.#spare.push(memory)
    }
  }
}

/** Hex digits. */
export async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  if (bytes.byteLength < minOtherThreadBytes) return hashOf('sha256', bytes, 'hex')
  return Buffer.from(await webcrypto.subtle.digest('SHA-256', bytes)).toString('hex')
}
