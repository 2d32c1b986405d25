import { createHash } from 'node:crypto'
import { ServiceError } from '../../lib/util/errors.ts'
import type { ArtefactRef } from './store.ts'

/** A multiple of 3, so that pieces turn into base64 without remainder. */
const pieceBytes = 384 * 1024
/**
 * Pieces are read into the same few buffers again: fresh ones would pile up until the collector
 * runs. Three: the one being read, the one that `verified` holds back, the one with the consumer.
 */
const ringPieces = 3

/** Reads until `target` is full or the bytes end; returns how many there were. */
type Fill = (target: Uint8Array, position: number) => Promise<number>

/** Bytes `start` to `end` (exclusive), or up to where they end. */
export async function* piecesBetween(
  start: number,
  end: number,
  fill: Fill,
): AsyncGenerator<Uint8Array> {
  const ring: Buffer[] = []
  for (let at = start, turn = 0; at < end; turn = (turn + 1) % ringPieces) {
    const whole = (ring[turn] ??= Buffer.allocUnsafeSlow(Math.min(pieceBytes, end - at)))
    const piece = whole.subarray(0, Math.min(whole.length, end - at))
    const length = await fill(piece, at)
    if (length === 0) return
    yield length === piece.length ? piece : piece.subarray(0, length)
    at += length
  }
}

/**
 * All bytes of an artefact, one piece behind: the last one is handed out only after the hash was
 * found right. Throws `artefact_corrupt`, after `onDamage`.
 */
export async function* verifiedPieces(
  ref: ArtefactRef,
  pieces: AsyncIterable<Uint8Array>,
  onDamage: () => Promise<void>,
): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256')
  let held: Uint8Array | undefined
  for await (const piece of pieces) {
    hash.update(piece)
    if (held !== undefined) yield held
    held = piece
  }
  if (`sha256:${hash.digest('hex')}` !== ref.digest) {
    await onDamage()
    throw corrupt(ref)
  }
  if (held !== undefined) yield held
}

export function corrupt(ref: ArtefactRef): ServiceError {
  const hint = 'store the artefact again; the damaged file was moved aside'
  return new ServiceError('artefact_corrupt', `${ref.uri} is damaged`, { hint })
}
