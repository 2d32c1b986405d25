import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { errnoOf } from '../../lib/util/errno.ts'
import { ServiceError } from '../../lib/util/errors.ts'
import { noFollow, noWait } from '../../lib/util/posix.ts'
import type { ArtefactRef, OpenArtefact } from './store.ts'

/** A multiple of 3, so that pieces turn into base64 without remainder. */
const pieceBytes = 384 * 1024
/**
 * Pieces are read into the same few buffers again: fresh ones would pile up until the collector
 * runs. Three: the one being read, the one that `verified` holds back, the one with the consumer.
 */
const ringPieces = 3
/** The body's file, or null when there is none. Throws ELOOP for a symlink. */
export async function openBody(path: string): Promise<FileHandle | null> {
  try {
    return await open(path, constants.O_RDONLY | noFollow | noWait)
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return null
    throw error
  }
}

export function corrupt(ref: ArtefactRef): ServiceError {
  const hint = 'store the artefact again; the damaged file was moved aside'
  return new ServiceError('artefact_corrupt', `${ref.uri} is damaged`, { hint })
}

export interface BodyEvents {
  /** Runs before `artefact_corrupt` is thrown. */
  onDamage(inode: number): Promise<void>
  /** Runs once for each body that was hashed to its end. */
  onHash(): void
}

/**
 * Reads from an opened body, after a check of its size; with `isDisputed` also of its hash.
 * Throws `artefact_corrupt`. Closes the body when it throws.
 */
export async function openChecked(
  body: FileHandle,
  ref: ArtefactRef,
  isDisputed: boolean,
  events: BodyEvents,
): Promise<OpenArtefact> {
  try {
    const stats = await body.stat({ bigint: true })
    const onDamage = () => events.onDamage(Number(stats.ino))
    if (!stats.isFile() || Number(stats.size) !== ref.size_bytes) {
      await onDamage()
      throw corrupt(ref)
    }
    const state = `${stats.ino}:${stats.size}:${stats.mtimeNs}:${stats.ctimeNs}`
    const artefact = createOpenArtefact(body, { ref, state }, { ...events, onDamage })
    if (isDisputed) for await (const _ of artefact.verified());
    return artefact
  } catch (error) {
    await body.close()
    throw error
  }
}

function createOpenArtefact(
  file: FileHandle,
  { ref, state }: Pick<OpenArtefact, 'ref' | 'state'>,
  events: { onDamage(): Promise<void>; onHash(): void },
): OpenArtefact {
  let closing: Promise<void> | undefined

  async function* range(start: number, end: number): AsyncGenerator<Uint8Array> {
    const stop = Math.min(end, ref.size_bytes)
    const ring: Buffer[] = []
    for (let at = Math.max(0, start), turn = 0; at < stop; turn = (turn + 1) % ringPieces) {
      const whole = (ring[turn] ??= Buffer.allocUnsafeSlow(Math.min(pieceBytes, stop - at)))
      const piece = whole.subarray(0, Math.min(whole.length, stop - at))
      const length = await fill(file, piece, at)
      if (length === 0) return
      yield length === piece.length ? piece : piece.subarray(0, length)
      at += length
    }
  }

  /** One piece behind: the last one is handed out only after the hash was found right. */
  async function* verified(): AsyncGenerator<Uint8Array> {
    const hash = createHash('sha256')
    let held: Uint8Array | undefined
    for await (const piece of range(0, ref.size_bytes)) {
      hash.update(piece)
      if (held !== undefined) yield held
      held = piece
    }
    events.onHash()
    if (`sha256:${hash.digest('hex')}` !== ref.digest) {
      await events.onDamage()
      throw corrupt(ref)
    }
    if (held !== undefined) yield held
  }

  return {
    ref,
    state,
    fill: (target, position) => fill(file, target, position),
    range,
    verified,
    close: () => (closing ??= file.close()),
  }
}

/** Reads until the piece is full or the file ends; returns how much there was. */
async function fill(file: FileHandle, piece: Uint8Array, position: number): Promise<number> {
  let length = 0
  while (length < piece.length) {
    const { bytesRead } = await file.read(piece, length, piece.length - length, position + length)
    if (bytesRead === 0) break
    length += bytesRead
  }
  return length
}
