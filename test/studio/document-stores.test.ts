import { expect } from 'chai'
import { randomBytes } from 'node:crypto'
import { silentLogger } from '../../src/lib/util/logger.ts'
import { type Database, openDatabase } from '../../src/server/database/pool.ts'
import { parseDatabaseUrl } from '../../src/server/database/settings.ts'
import type { DocumentStores } from '../../src/server/documents/document-stores.ts'
import { migrate } from '../../src/server/database/migrations.ts'
import { writeNote } from '../../src/server/notes/note-store.ts'
import { openDocumentRows } from '../../src/server/documents/postgres/open-document-rows.ts'
import { migrations } from '../../src/server/documents/postgres/schema.ts'
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
    return openDocumentRows(database, silentLogger, '/data')
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
      writeNote(notes, before => ({
        id,
        number: before.length + 1,
        state: 'open',
        text: 'Too bright',
        author: 'ada',
        created_at: '2026-01-02T03:04:05.678Z',
        targets: [],
        revision: null,
        checkpoint: null,
        entries: [],
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

  const checkpointOf = (name: string, stored_bytes: number) => ({
    name,
    created_at: '2026-01-02T03:04:05.678Z',
    by: 'ada',
    revision: 1,
    size: 1,
    stored_bytes,
  })

  it('keeps a scene of which no statement could take the whole', async () => {
    // A statement may take 2 s: this scene was not kept in 10 s.
    const settings = parseDatabaseUrl(await postgres.schema(), 'the test')
    const database = await openDatabase({ settings, log: silentLogger, waitMs: 1000 })
    databases.push(database)
    const stores = await openDocumentRows(database, silentLogger, '/data')
    const checkpoints = stores.checkpoints(document)
    const scene = randomBytes(64 * 1024 * 1024 + 1)
    await checkpoints.add(checkpointOf('large', scene.length), scene)
    expect((await checkpoints.read('large')).equals(scene)).to.equal(true)
    expect(await checkpoints.remove('large')).to.equal(true)
    const rows = await database.rows('a test', 'SELECT part FROM document_scene_parts')
    expect(rows).to.deep.equal([])
    stores.close()
  })

  it('divides the scenes of an older version into parts', async () => {
    const url = await postgres.schema()
    const database = await postgres.open(url)
    await migrate(database, 'documents', migrations.slice(0, 1))
    const scenes = [1, 1024 * 1024, 1024 * 1024 + 1].map(size => randomBytes(size))
    for (const [at, scene] of scenes.entries()) {
      const insert = `INSERT INTO document_checkpoints (document, name, facts, scene)
        VALUES ($1, $2, $3, $4)`
      const facts = JSON.stringify(checkpointOf(`c${at}`, scene.length))
      await database.change('a test', insert, document, `c${at}`, facts, scene)
    }
    await database.close()
    const stores = await openAt(url)
    const checkpoints = stores.checkpoints(document)
    expect(await checkpoints.list()).to.have.length(3)
    for (const [at, scene] of scenes.entries()) {
      expect((await checkpoints.read(`c${at}`)).equals(scene)).to.equal(true)
    }
    stores.close()
  })
})
