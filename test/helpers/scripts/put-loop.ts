// Puts random artefacts, four at a time, until it is killed; prints the hash of each that was acknowledged.
import { randomBytes } from 'node:crypto'
import { writeSync } from 'node:fs'
import { ArtefactFolder } from '../../../src/server/artefacts/folder.ts'
import { ArtefactStore } from '../../../src/server/artefacts/store.ts'

const store = new ArtefactStore(new ArtefactFolder(process.argv[2] ?? ''))

async function putForEver(): Promise<never> {
  for (let at = 0; ; at++) {
    const bytes = randomBytes(at % 4 === 0 ? 300_000 : 200)
    const { ref } = await store.put(piecesOf(bytes), { display_name: `n${at}`, metadata: { at } })
    writeSync(1, `${ref.digest.slice('sha256:'.length)}\n`)
  }
}

async function* piecesOf(bytes: Buffer) {
  for (let from = 0; from < bytes.length; from += 50_000) yield bytes.subarray(from, from + 50_000)
}

// Four, so that a kill after one is acknowledged always hits the others half way.
await Promise.all([putForEver(), putForEver(), putForEver(), putForEver()])
