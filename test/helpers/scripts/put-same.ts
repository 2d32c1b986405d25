// Puts the same few artefacts again and again; removes some.
import { createHash } from 'node:crypto'
import { ArtefactFolder } from '../../../src/server/artefacts/folder.ts'
import { ArtefactStore } from '../../../src/server/artefacts/store.ts'

const [root = '', worker = '0', rounds = '0'] = process.argv.slice(2)
const store = new ArtefactStore(new ArtefactFolder(root))
for (let round = 0; round < Number(rounds); round++) {
  const bytes = Buffer.from(`artefact ${round % 5}`)
  await store.put(bytes, { display_name: `${worker}-${round}` })
  if (round % 5 === 4) await store.remove(createHash('sha256').update('artefact 4').digest('hex'))
}
await store.put(Buffer.from(`of ${worker}`))
await store.close()
