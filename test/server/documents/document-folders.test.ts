import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { silentLogger } from '../../../src/lib/util/logger.ts'
import { documentFolders } from '../../../src/server/documents/document-stores.ts'
import { describeDocumentStores } from './document-stores-suite.ts'

describeDocumentStores('a folder', async () => {
  const root = await mkdtemp(join(tmpdir(), 'documents-'))
  return {
    stores: documentFolders(root, silentLogger),
    again: async () => documentFolders(root, silentLogger),
    damage: (document, id) => writeFile(join(root, document, 'notes', `${id}.json`), '{"id":'),
    remove: () => rm(root, { recursive: true, force: true }),
  }
})
