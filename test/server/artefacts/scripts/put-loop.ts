// Puts random artefacts until it is killed; prints the hash of each that was acknowledged.
import { randomBytes } from 'node:crypto'
import { writeSync } from 'node:fs'
import { createFsStore } from '../../../../src/server/artefacts/fs-store.ts'

const store = await createFsStore({ root: process.argv[2] ?? '' })
for (let at = 0; ; at++) {
  const bytes = randomBytes(at % 4 === 0 ? 300_000 : 200)
  const source = (async function* () {
    for (let from = 0; from < bytes.length; from += 50_000)
      yield bytes.subarray(from, from + 50_000)
  })()
  const { ref } = await store.put(source, { displayName: `n${at}`, metadata: { at } })
  writeSync(1, `${ref.digest.slice('sha256:'.length)}\n`)
}
