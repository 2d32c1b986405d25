import { createHash } from 'node:crypto'
import { ServiceError } from '../../../lib/util/errors.ts'
import { piecesBetween, verifiedPieces } from '../open-artefact.ts'
import type { ArtefactRef, OpenArtefact } from '../store.ts'
import type { Bucket, ObjectFacts } from './bucket.ts'
import { ObjectReader } from './object-reader.ts'

interface ObjectOptions {
  readonly bucket: Bucket
  readonly key: string
  readonly facts: ObjectFacts
  readonly ref: ArtefactRef
  /** Runs before `artefact_corrupt` is thrown. */
  onDamage(): Promise<void>
}

/** An artefact whose object has the right size. */
export function openObject({ bucket, key, facts, ref, onDamage }: ObjectOptions): OpenArtefact {
  const reader = new ObjectReader(bucket, key, facts)
  const readers = new Set([reader])

  /** Reads with a request of its own, which ends at `end`. */
  async function* between(start: number, end: number): AsyncGenerator<Uint8Array> {
    const own = new ObjectReader(bucket, key, facts)
    readers.add(own)
    try {
      yield* piecesBetween(start, end, (target, position) => own.fill(target, position, end))
    } finally {
      own.close()
      readers.delete(own)
    }
  }

  /** Reads it once more, so that a byte changed in transit does not cost the artefact. */
  async function checkAgain(): Promise<void> {
    const hash = createHash('sha256')
    for await (const piece of between(0, facts.size)) hash.update(piece)
    if (`sha256:${hash.digest('hex')}` !== ref.digest) return onDamage()
    const message = `${bucket.name}: ${ref.uri} was changed in transit`
    throw new ServiceError('storage_unavailable', message, { hint: 'read it again' })
  }

  return {
    ref,
    state: `${key} ${facts.etag}`,
    fill: (target, position) => reader.fill(target, position),
    range: (start, end) => between(Math.max(0, start), Math.min(end, facts.size)),
    verified: () =>
      verifiedPieces(ref, between(0, facts.size), { onDamage: checkAgain, onHash() {} }),
    async close() {
      for (const each of readers) each.close()
    },
  }
}
