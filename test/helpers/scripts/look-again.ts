// Looks at a folder of artefacts again and again, which removes what has expired, until it is killed.
import { ArtefactFolder } from '../../../src/server/artefacts/folder.ts'
import { ArtefactStore } from '../../../src/server/artefacts/store.ts'

const store = new ArtefactStore(new ArtefactFolder(process.argv[2] ?? ''))
await store.start()
process.stdout.write('ready\n')
for (;;) {
  await store.refresh()
  await new Promise(resolve => setImmediate(resolve))
}
