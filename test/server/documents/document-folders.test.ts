import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { silentLogger } from '../../../src/lib/util/logger.ts'
import { documentFolders } from '../../../src/server/documents/document-stores.ts'
import { failureOf } from '../../helpers/failure.ts'
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

describe('the folder of checkpoints', () => {
  it('gives no name of a checkpoint away while its file cannot be read', async () => {
    const root = await mkdtemp(join(tmpdir(), 'documents-'))
    try {
      const store = documentFolders(root, silentLogger).checkpoints('shot')
      const facts = { created_at: '2026-01-02T03:04:05.000Z', by: 'ada', revision: 1, size: 10 }
      const checkpoint = { name: 'one', ...facts, stored_bytes: 5 }
      await store.add(checkpoint, Buffer.from('first'))
      const folder = join(root, 'shot', 'checkpoints')
      const names = await readdir(folder)
      const [file = ''] = names.filter(name => name.endsWith('.json'))
      const text = await readFile(join(folder, file))
      await rm(join(folder, file))
      await mkdir(join(folder, file))
      const again = () => store.add(checkpoint, Buffer.from('second'))
      for (const failing of [() => store.list(), again]) {
        const { code, message } = await failureOf(failing)
        expect(code).to.equal('storage_failed')
        expect(message).to.contain(`${file} cannot be read: EISDIR`)
      }
      await rm(join(folder, file), { recursive: true })
      await writeFile(join(folder, file), text)
      expect(await store.list()).to.deep.equal([checkpoint])
      expect((await store.read('one')).toString()).to.equal('first')
    } finally {
      await rm(root, { recursive: true, force: true })
    }
  })
})
