import { hash, webcrypto } from 'node:crypto'
import { ServiceError } from '../../lib/util/errors.ts'

export type BodySource = Uint8Array | AsyncIterable<Uint8Array>

const pieceBytes = 1024 * 1024

/** The pieces of a body that is put. An error of the source arrives as `SourceFailed`. */
export function piecesOf(source: BodySource): Iterable<Uint8Array> | AsyncIterable<Uint8Array> {
  return source instanceof Uint8Array ? copiesOf(source) : streamed(source)
}

/** The size of one body at most, and what to do beyond it. */
export interface BodyBound {
  readonly maxBytes: number
  readonly hint: string
}

export function byLimits(maxBytes: number): BodyBound {
  return { maxBytes, hint: 'store less, or raise maxArtefactBytes and maxArtefactTotalBytes' }
}

/** The size of a body of `size` bytes with `piece`. Throws `artefact_too_large`. */
export function sizeWith(piece: Uint8Array, size: number, { maxBytes, hint }: BodyBound): number {
  if (!(piece instanceof Uint8Array)) throw new TypeError('an artefact is made of bytes')
  const sum = size + piece.byteLength
  if (sum <= maxBytes) return sum
  const message = `the artefact is larger than ${maxBytes} bytes`
  throw new ServiceError('artefact_too_large', message, { hint, data: { max_bytes: maxBytes } })
}

/** The bytes could not be had: `cause` is the source's own error, and none of the store's. */
export class SourceFailed extends Error {
  override readonly name = 'SourceFailed'
}

async function* streamed(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* source
  } catch (error) {
    throw new SourceFailed('the source failed', { cause: error })
  }
}

/** Copies, because the caller may change its bytes meanwhile: hash and file must agree. */
function* copiesOf(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.byteLength; at += pieceBytes) {
    // Not `slice`: that of a Buffer is a view.
    yield new Uint8Array(bytes.subarray(at, at + pieceBytes))
  }
}

/** From here on hashing on another thread costs this one less than hashing itself. */
const minOtherThreadBytes = 256 * 1024

/** The SHA-256 of the bytes, as hex digits. */
export async function sha256(bytes: Uint8Array): Promise<string> {
  if (bytes.byteLength < minOtherThreadBytes) return hash('sha256', bytes)
  const own = bytes as Uint8Array<ArrayBuffer>
  return Buffer.from(await webcrypto.subtle.digest('SHA-256', own)).toString('hex')
}
