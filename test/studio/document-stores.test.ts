import { expect } from 'chai'
import { silentLogger } from '../../src/lib/util/logger.ts'
import type { Database } from '../../src/server/database/pool.ts'
import type { DocumentStores } from '../../src/server/documents/document-stores.ts'
import { openDocumentRows } from '../../src/server/documents/postgres/open-document-rows.ts'
import { describeDocumentStores } from '../server/documents/document-stores-suite.ts'
import { failureOf } from '../helpers/failure.ts'
import { type Postgres, startPostgres } from './postgres.ts'

const document = 'a'.repeat(32)

describe('notes and checkpoints in PostgreSQL', () => {
  let postgres: Postgres
  before(async function () {
    postgres = await startPostgres(this)
  })
  after(() => postgres?.remove())

  const databases: Database[] = []
  afterEach(() => Promise.all(databases.splice(0).map(database => database.close())))
  async function openAt(url: string): Promise<DocumentStores> {
    const database = await postgres.open(url)
    databases.push(database)
    return openDocumentRows(database, silentLogger)
  }

  describeDocumentStores('PostgreSQL', async () => {
    const url = await postgres.schema()
    const opened: DocumentStores[] = []
    const again = async () => {
      const stores = await openAt(url)
      opened.push(stores)
      return stores
    }
    return {
      stores: await again(),
      again,
      async damage(of, id) {
        const database = await postgres.open(url)
        const cut = 'UPDATE document_notes SET note = left(note, 9) WHERE document = $1 AND id = $2'
        await database.change('a test', cut, of, id)
        await database.close()
      },
      async remove() {
        for (const stores of opened) stores.close()
      },
    }
  })

  it('refuses with a clear error while the database is away, and loses nothing', async () => {
    const stores = await openAt(await postgres.schema())
    const notes = stores.notes(document)
    const checkpoints = stores.checkpoints(document)
    const write = (id: string) =>
      notes.write(before => ({
        ...{ id, number: before.length + 1, state: 'open', text: 'Too bright', author: 'ada' },
        ...{ created_at: '2026-01-02T03:04:05.678Z', targets: [], revision: null },
        ...{ checkpoint: null, entries: [] },
      }))
    const add = (name: string) => {
      const facts = { created_at: '2026-01-02T03:04:05.678Z', by: 'ada', revision: 1 }
      return checkpoints.add({ name, ...facts, size: 1, stored_bytes: 1 }, Buffer.from(name))
    }
    await write('00000001')
    await add('one')
    postgres.stop('immediate')
    try {
      for (const refused of [
        () => write('00000002'),
        () => notes.notes(),
        () => add('two'),
        () => checkpoints.list(),
        () => checkpoints.read('one'),
        () => checkpoints.remove('one'),
      ]) {
        expect((await failureOf(refused)).code).to.equal('storage_unavailable')
      }
    } finally {
      postgres.start()
    }
    await write('00000003')
    expect((await notes.notes()).map(({ id }) => id)).to.deep.equal(['00000001', '00000003'])
    expect((await checkpoints.list()).map(({ name }) => name)).to.deep.equal(['one'])
    stores.close()
  })
})
