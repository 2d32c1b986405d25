import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { errnoOf } from '../../lib/util/errors.ts'
import { noFollow, noWait } from '../../lib/util/posix.ts'
import { corrupt, piecesBetween, verifiedPieces } from './open-artefact.ts'
import type { ArtefactRef, OpenArtefact } from './store.ts'

/** The body's file; null when it is missing. Throws ELOOP for a symlink. */
export async function openBody(path: string): Promise<FileHandle | null> {
  try {
    return await open(path, constants.O_RDONLY | noFollow | noWait)
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return null
    throw error
  }
}

/**
 * Reads from an opened body, after a check of its size; with `isDisputed` also of its hash.
 * Throws `artefact_corrupt`, after `whenDamaged`. Closes the body when it throws.
 */
export async function openChecked(
  body: FileHandle,
  ref: ArtefactRef,
  isDisputed: boolean,
  whenDamaged: (inode: number) => Promise<void>,
): Promise<OpenArtefact> {
  try {
    const stats = await body.stat({ bigint: true })
    const onDamage = () => whenDamaged(Number(stats.ino))
    if (!stats.isFile() || Number(stats.size) !== ref.size_bytes) {
      await onDamage()
      throw corrupt(ref)
    }
    const state = `${stats.ino}:${stats.size}:${stats.mtimeNs}:${stats.ctimeNs}`
    const artefact = createOpenArtefact(body, { ref, state }, onDamage)
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
  onDamage: () => Promise<void>,
): OpenArtefact {
  let closing: Promise<void> | undefined

  async function fill(target: Uint8Array, position: number): Promise<number> {
    let length = 0
    while (length < target.length) {
      const rest = target.length - length
      const { bytesRead } = await file.read(target, length, rest, position + length)
      if (bytesRead === 0) break
      length += bytesRead
    }
    return length
  }

  return {
    ref,
    state,
    fill,
    range: (start, end) => piecesBetween(Math.max(0, start), Math.min(end, ref.size_bytes), fill),
    verified: () => verifiedPieces(ref, piecesBetween(0, ref.size_bytes, fill), onDamage),
    close: () => (closing ??= file.close()),
  }
}
