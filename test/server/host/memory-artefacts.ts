import { createHash } from 'node:crypto'
import { describePut } from '../../../src/server/artefacts/sidecar.ts'
import type { ArtefactFields, PutResult } from '../../../src/server/artefacts/store.ts'

/** A store that remembers what arrived. */
export class MemoryArtefacts {
  readonly stored = new Map<string, { bytes: Buffer; fields: ArtefactFields }>()
  /** Puts that were begun and did not end well. */
  broken = 0
  /** Called when a put has taken its first bytes. */
  onFirstBytes: () => void = () => {}
  onBroken: () => void = () => {}

  async put(source: AsyncIterable<Uint8Array>, fields: ArtefactFields = {}): Promise<PutResult> {
    const chunks: Uint8Array[] = []
    try {
      for await (const chunk of source) {
        if (chunks.push(chunk) === 1) this.onFirstBytes()
      }
    } catch (error) {
      this.broken++
      this.onBroken()
      throw error
    }
    const bytes = Buffer.concat(chunks)
    const hex = createHash('sha256').update(bytes).digest('hex')
    const existed = this.stored.has(hex)
    this.stored.set(hex, { bytes, fields })
    const origin = { instance_id: null, dcc_type: null }
    const facts = { hex, size: bytes.length, nowMs: 0, ttlMs: 0, origin, previous: null }
    const ref = describePut(fields, facts)
    return { ref, existed }
  }

  async remove(hex: string): Promise<boolean> {
    return this.stored.delete(hex)
  }
}
