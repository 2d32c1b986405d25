import { hash as hashOf, webcrypto } from 'node:crypto'

/** The most recently used values, up to `maxBytes` of what they weigh together. */
export class WeighedCache<Value> {
  readonly #maxBytes: number
  readonly #entries = new Map<string, { value: Value; bytes: number }>()
  #bytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  get(key: string): Value | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    return entry.value
  }

  /** A value heavier than the whole cache is not kept. */
  set(key: string, value: Value, bytes: number): void {
    this.delete(key)
    if (bytes > this.#maxBytes) return
    this.#entries.set(key, { value, bytes })
    this.#bytes += bytes
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= this.#maxBytes) break
      this.delete(oldest)
    }
  }

  delete(key: string): void {
    this.#bytes -= this.#entries.get(key)?.bytes ?? 0
    this.#entries.delete(key)
  }
}

/** Lets `places` tasks run at a time; the others wait their turn, so that memory stays bounded. */
export function createGate(places: number) {
  const waiting: (() => void)[] = []
  let free = places
  return async <Value>(task: () => Promise<Value>): Promise<Value> => {
    if (free > 0) free--
    else await new Promise<void>(resolve => waiting.push(resolve))
    try {
      return await task()
    } finally {
      const next = waiting.shift()
      if (next === undefined) free++
      else next()
    }
  }
}

/** Runs a task once for all who ask under the same key while it runs. */
export function createSharing<Value>() {
  const running = new Map<string, Promise<Value>>()
  return (key: string, task: () => Promise<Value>): Promise<Value> => {
    const known = running.get(key)
    if (known !== undefined) return known
    const started = task().finally(() => running.delete(key))
    running.set(key, started)
    return started
  }
}

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

/** Bytes encoded at a time: a multiple of 3, small enough to stay in the processor's cache. */
const encodeBytes = 48 * 1024

/** The ASCII bytes of the padded base64 text. */
export function encodeBase64(bytes: Uint8Array): Uint8Array {
  const source = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const target = Buffer.allocUnsafeSlow(Math.ceil(source.length / 3) * 4)
  let length = 0
  for (let at = 0; at < source.length; at += encodeBytes) {
    length += target.write(source.toString('base64', at, at + encodeBytes), length, 'latin1')
  }
  return target
}
