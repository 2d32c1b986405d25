// Puts the same few artefacts again and again, with an expiry that says who did it; removes some.
import { createHash } from 'node:crypto'
import { createFsStore } from '../../../src/server/artefacts/fs-store.ts'

const [root = '', worker = '0', rounds = '0'] = process.argv.slice(2)
const store = await createFsStore({ root })
let created = 0
for (let round = 0; round < Number(rounds); round++) {
  const bytes = Buffer.from(`artefact ${round % 5}`)
  const second = String(Number(worker) * 10 + (round % 10)).padStart(2, '0')
  const { existed } = await store.put(bytes, {
    displayName: `${worker}-${round}`,
    expiresAt: `2099-01-01T00:00:${second}Z`,
  })
  if (!existed) created++
  if (round % 5 === 4) await store.remove(createHash('sha256').update('artefact 4').digest('hex'))
}
await store.put(Buffer.from(`of ${worker}`))
await store.close()
console.log(JSON.stringify({ created }))
