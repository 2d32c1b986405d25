import { createHash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { ServiceError } from '../../lib/util/errors.ts'

const pieceBytes = 1024 * 1024

/**
 * Writes the source to `file`, hashing on the way; holds one piece at a time. Throws
 * `artefact_too_large` as soon as more than `maxBytes` came.
 */
export async function writeBody(
  file: FileHandle,
  source: Uint8Array | AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<{ hex: string; size: number }> {
  const hash = createHash('sha256')
  let size = 0
  for await (const piece of source instanceof Uint8Array ? copiesOf(source) : piecesOf(source)) {
    if (!(piece instanceof Uint8Array)) throw new TypeError('an artefact is made of bytes')
    if (size + piece.byteLength > maxBytes) throw tooLarge(maxBytes)
    // The write runs elsewhere while this thread hashes.
    const written = writeAll(file, piece, size)
    hash.update(piece)
    await written
    size += piece.byteLength
  }
  return { hex: hash.digest('hex'), size }
}

function tooLarge(maxBytes: number): ServiceError {
  const hint = 'store less, or raise maxArtefactBytes and maxArtefactTotalBytes'
  const message = `the artefact is larger than ${maxBytes} bytes`
  return new ServiceError('artefact_too_large', message, { hint, data: { max_bytes: maxBytes } })
}

/** The bytes could not be had: `cause` is the source's own error, and none of the store's. */
export class SourceFailed extends Error {
  override readonly name = 'SourceFailed'
}

async function* piecesOf(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
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

async function writeAll(file: FileHandle, piece: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < piece.byteLength;) {
    const { bytesWritten } = await file.write(piece, done, piece.byteLength - done, position + done)
    done += bytesWritten
  }
}
