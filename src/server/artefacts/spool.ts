import { createHash, randomUUID } from 'node:crypto'
import { mkdir, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { ServiceError } from '../../lib/util/errors.ts'
import { type Spooled, withStorageErrors } from './files.ts'

export type BodySource = Uint8Array | AsyncIterable<Uint8Array>

/**
 * Writes the source to a new file in `folder`, hashing on the way; holds one piece at a time. Throws
 * `artefact_too_large` as soon as more than `maxBytes` came, and errors of the source unchanged.
 */
export async function spool(
  folder: string,
  source: BodySource,
  maxBytes: number,
): Promise<Spooled> {
  const path = join(folder, randomUUID())
  const file = await withStorageErrors('cannot store the artefact', async () => {
    // A cleaner of temporary files may have deleted it.
    await mkdir(folder, { recursive: true, mode: 0o700 })
    return open(path, 'wx', 0o600)
  })
  const discard = async () => {
    await file.close()
    await rm(path, { force: true })
  }
  const hash = createHash('sha256')
  let size = 0
  try {
    for await (const piece of source instanceof Uint8Array ? [source] : source) {
      size += piece.byteLength
      if (size > maxBytes) throw tooLarge(maxBytes)
      // The write runs elsewhere while this thread hashes.
      const written = withStorageErrors('cannot store the artefact', () => file.writeFile(piece))
      hash.update(piece)
      await written
    }
  } catch (error) {
    await discard()
    throw error
  }
  const sync = async () => {
    await file.sync()
    await file.close()
  }
  return { path, hex: hash.digest('hex'), size, sync, discard }
}

function tooLarge(maxBytes: number): ServiceError {
  return new ServiceError('artefact_too_large', `the artefact is larger than ${maxBytes} bytes`, {
    hint: 'store less, or raise maxArtefactBytes and maxArtefactTotalBytes',
    data: { max_bytes: maxBytes },
  })
}
