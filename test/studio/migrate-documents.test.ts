import { expect } from 'chai'
import { hash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { silentLogger } from '../../src/lib/util/logger.ts'
import type { Checkpoint } from '../../src/server/checkpoints/checkpoint-store.ts'
import type { Database } from '../../src/server/database/pool.ts'
import { documentFolders, type DocumentStores } from '../../src/server/documents/document-stores.ts'
import { openDocumentRows } from '../../src/server/documents/postgres/open-document-rows.ts'
import type { Note, NoteEntry } from '../../src/server/notes/note.ts'
import { runCommand } from '../helpers/in-process.ts'
import { RawSession } from '../helpers/mcp.ts'
import { cleanEnv, type Ended, runProgram, startProgram } from '../helpers/program.ts'
import { type ServeProcess, startServeProcess } from '../helpers/serve-process.ts'
import { until } from '../helpers/until.ts'
import { newPlace, type Place } from './bucket-stores.ts'
import { type Postgres, startPostgres } from './postgres.ts'
import { type Swift, useSwift } from './swift.ts'

const shot = 'a'.repeat(32)
const other = 'b'.repeat(32)
const odd = 'Größe 2._- 東京 ①'

const idOf = (number: number) => number.toString(16).padStart(8, '0')
const noteOf = (number: number, more: Partial<Note> = {}): Note => ({
  id: idOf(number),
  number,
  state: 'open',
  text: `Note ${number}`,
  author: 'ada',
  created_at: '2026-01-02T03:04:05.678Z',
  targets: [],
  revision: null,
  checkpoint: null,
  entries: [],
  ...more,
})
const answer: NoteEntry = { action: 'answer', by: 'agent', at: '2026-01-03T00:00:00.000Z' }

describe('artefacts migrate, of notes and checkpoints', () => {
  let postgres: Postgres
  let swift: Swift
  let bucket: string
  let place: Place
  let home: string
  let data: string
  let database: Database
  before(async function () {
    postgres = await startPostgres(this)
    swift = await useSwift(this)
    bucket = await swift.bucket()
  })
  after(() => postgres?.remove())
  beforeEach(async () => {
    place = await newPlace(postgres, bucket)
    database = await postgres.open(place.database)
    home = fs.mkdtempSync(join(tmpdir(), 'migrate-documents-'))
    data = join(home, 'data/service-cli/documents')
  })
  afterEach(async () => {
    await database.close()
    fs.rmSync(home, { recursive: true, force: true })
  })

  const env = () => ({
    HOME: home,
    XDG_DATA_HOME: join(home, 'data'),
    ...swift.env,
    SERVICE_DATABASE_URL: place.database,
  })
  const args = (direction: '--to' | '--from') => [
    'artefacts',
    'migrate',
    direction,
    place.bucket,
    '--registry-dir',
    home,
    '--json',
  ]
  const migrate = (direction: '--to' | '--from', more: NodeJS.ProcessEnv = {}) =>
    runProgram(args(direction), { env: cleanEnv({ ...env(), ...more }) })
  function copiedBy({ code, stdout, stderr }: Ended) {
    expect(code, stdout + stderr).to.equal(0)
    return JSON.parse(stdout).documents
  }
  const inFiles = () => documentFolders(data, silentLogger)
  async function inRows<Value>(use: (stores: DocumentStores) => Promise<Value>): Promise<Value> {
    const stores = await openDocumentRows(database, silentLogger, data)
    try {
      return await use(stores)
    } finally {
      stores.close()
    }
  }

  /** SHA-256 of each record by its path below the data folder. */
  const filesNow = () =>
    Object.fromEntries(
      fs
        .globSync('*/{notes/*.json,checkpoints/*.json,checkpoints/*.gz}', { cwd: data })
        .map(path => [path, hash('sha256', fs.readFileSync(join(data, path)))]),
    )
  /** The same of the database: each under the path that its file has. */
  async function rowsNow() {
    const select = (sql: string) =>
      database.rows<Record<string, string> & { scene: Buffer }>('a test', sql).catch(() => [])
    const folderOf = (document = '') => document.replace(/\.local\.[0-9a-f]{32}$/, '.local')
    const notes = await select('SELECT document, id, note FROM document_notes')
    const checkpoints = await select(`SELECT document, name, facts, (SELECT
      string_agg(bytes, '' ORDER BY part) FROM document_scene_parts WHERE checkpoint = id) AS scene
      FROM document_checkpoints`)
    return Object.fromEntries([
      ...notes.map(({ document, id, note = '' }) => [
        `${folderOf(document)}/notes/${id}.json`,
        hash('sha256', note),
      ]),
      ...checkpoints.flatMap(({ document, name = '', facts = '', scene }) => {
        const path = `${folderOf(document)}/checkpoints/${hash('sha256', name).slice(0, 32)}`
        return [
          [`${path}.json`, hash('sha256', facts)],
          [`${path}.scene.gz`, hash('sha256', scene)],
        ]
      }),
    ])
  }

  const write = (stores: DocumentStores, document: string, note: Note) =>
    stores.notes(document).write(() => [note])
  async function add(
    stores: DocumentStores,
    document: string,
    name: string,
    more: Partial<Checkpoint> & { text?: string } = {},
  ) {
    const { text = `scene of ${name}`, ...facts } = more
    const packed = gzipSync(text)
    const sizes = { size: Buffer.byteLength(text), stored_bytes: packed.length }
    const made = { created_at: '2026-01-02T03:04:05.678Z', by: 'ada', revision: 1 }
    await stores.checkpoints(document).add({ name, ...made, ...sizes, ...facts }, packed)
  }
  /** 60 documents of two notes and a checkpoint each. */
  async function fill(stores: DocumentStores) {
    for (let at = 0; at < 60; at++) {
      const document = hash('sha256', String(at)).slice(0, 32)
      for (const number of [1, 2]) await write(stores, document, noteOf(number))
      await add(stores, document, odd)
    }
  }

  const documents = [{ path: '/shots/a.blend' }, { path: '/shots/b.blend' }, { name: 'untitled' }]
  const states = [
    [],
    ['answer'],
    ['answer', 'accept'],
    ['answer', 'accept', 'reopen'],
    ['answer', 'reopen', 'answer'],
    ['close'],
  ]
  /** Proofs take time: each document has the notes of two states, the first one all. */
  async function work(serve: ServeProcess, document: object, number: number) {
    expect((await serve.post('app', { document })).status).to.equal(200)
    await serve.post('scene', { objects: [{ id: 'Lamp', name: 'Lamp' }] })
    for (const name of ['before', odd]) {
      expect((await serve.post('checkpoints', { name, by: 'ada' })).status).to.equal(200)
    }
    for (const [at, taken] of (number === 0 ? states : states.slice(0, 2)).entries()) {
      const text = `"${at}" \u{1f4a1} \u2028 \\u0000`
      const { id } = (await serve.post('notes', { text, targets: ['Lamp'], frame: at })).json.note
      for (const action of taken) {
        const acted = await serve.post(`notes/${id}/${action}`, { by: 'ben', text: 'Done' })
        expect(acted.status, acted.text).to.equal(200)
      }
    }
  }
  /** What clients read of each document. */
  async function seenAt(serve: ServeProcess) {
    const seen = []
    for (const document of documents) {
      await serve.post('app', { document })
      const session = await RawSession.open(serve.url)
      const { notes } = await session.readJson('notes://all')
      const { checkpoints } = await session.readJson('scene://checkpoints')
      const { stdout } = await runCommand(['notes', 'list', '--all', '--registry-dir', home], {
        env: cleanEnv(env()),
      })
      seen.push({ document, notes, checkpoints, stdout })
    }
    return seen
  }

  it('takes notes in all states and checkpoints of all documents to the database, and back', async function () {
    this.timeout(120_000)
    const start = (...flags: string[]) =>
      startServeProcess({ registryDir: home, env: env(), flags: ['--capture', 'off', ...flags] })
    const first = await start()
    let before
    try {
      for (const [at, document] of documents.entries()) await work(first, document, at)
      before = await seenAt(first)
    } finally {
      await first.stop()
    }
    // Larger than a part, and not compressible.
    const large = { text: randomBytes(2_000_000).toString('hex') }
    await add(inFiles(), shot, 'large', large)
    const files = filesNow()
    expect(Object.keys(files)).to.have.length(10 + 2 * (10 + 6 + 1))
    const there = copiedBy(await migrate('--to'))
    expect(there).to.include({ from: data, to: database.name, damaged: 0, others: 0 })
    expect(there).to.include({ notes: 10, checkpoints: 17, copied: 27 })
    expect(await rowsNow()).to.deep.equal(files)
    expect(filesNow()).to.deep.equal(files)

    const second = await start('--artefacts', place.bucket)
    try {
      expect(await seenAt(second)).to.deep.equal(before)
      expect(before[2]?.stdout).to.contain('\u{1f4a1}')
    } finally {
      await second.stop()
    }

    fs.renameSync(data, join(home, 'earlier'))
    const back = copiedBy(await migrate('--from'))
    expect(back).to.deep.equal({ ...there, from: there.to, to: there.from })
    expect(filesNow()).to.deep.equal(files)
    expect(await rowsNow()).to.deep.equal(files)
    const third = await start()
    try {
      expect(await seenAt(third)).to.deep.equal(before)
    } finally {
      await third.stop()
    }
  })

  const cases = [
    { direction: '--to', from: 'files', to: 'the database' },
    { direction: '--from', from: 'the database', to: 'files' },
  ] as const
  for (const { direction, from, to } of cases) {
    it(`is killed on the way from ${from} to ${to}, and copies only what is missing`, async () => {
      const now = async () => (direction === '--to' ? await rowsNow() : filesNow())
      if (direction === '--to') await fill(inFiles())
      else await inRows(fill)
      const all = direction === '--to' ? filesNow() : await rowsNow()
      const child = startProgram(args(direction), { env: cleanEnv(env()) })
      const isPartly = async () => Object.keys(await now()).length > 20
      await until(isPartly, 'some of the documents are copied')
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
      const before = Object.keys(await now())
      expect(before.length).to.be.within(21, Object.keys(all).length - 1)
      const notes = before.filter(path => path.includes('/notes/')).length
      const checkpoints = before.filter(path => /checkpoints.*json$/.test(path)).length
      const again = copiedBy(await migrate(direction))
      const copied = 180 - notes - checkpoints
      expect(again).to.include({ notes: 120, checkpoints: 60, copied, damaged: 0 })
      expect(await now()).to.deep.equal(all)
      expect(copiedBy(await migrate(direction))).to.include({ copied: 0 })
    })
  }

  it('names what the target has with other content, and changes nothing', async () => {
    await write(inFiles(), shot, noteOf(1))
    await write(inFiles(), shot, noteOf(2, { entries: [{ ...answer, text: 'Here' }] }))
    await add(inFiles(), other, odd)
    const refused = async (what: string) => {
      const before = await rowsNow()
      const { code, stdout } = await migrate('--to')
      expect(code).to.equal(1)
      const { error } = JSON.parse(stdout)
      expect(error.code).to.equal('entry_exists')
      expect(error.message).to.contain(`${what} differs at ${database.name}`)
      expect(await rowsNow()).to.deep.equal(before)
    }
    await inRows(async stores => {
      await write(stores, shot, noteOf(2, { entries: [{ ...answer, text: 'There' }] }))
      await refused(`note ${idOf(2)}`)
      await write(stores, shot, noteOf(2))
      await add(stores, other, odd, { by: 'ben' })
      await refused(`checkpoint "${odd}" of document ${other}`)
      await stores.checkpoints(other).remove(odd)
    })
    expect(copiedBy(await migrate('--to'))).to.include({ notes: 2, checkpoints: 1 })
  })

  it('keeps the note that has gone on, at either end', async () => {
    const proof = { settled: true, revision: 1 }
    const older = [noteOf(1), noteOf(2, { state: 'answered', entries: [answer] })]
    for (const note of older) await write(inFiles(), shot, note)
    expect(copiedBy(await migrate('--to'))).to.include({ copied: 2 })
    const accepted = { ...answer, action: 'accept' as const }
    const newer = [
      noteOf(1, { state: 'answered', entries: [answer] }),
      noteOf(2, { state: 'accepted', entries: [{ ...answer, proof }, accepted] }),
    ]
    await inRows(async stores => {
      for (const note of newer) await write(stores, shot, note)
    })
    expect(copiedBy(await migrate('--to'))).to.include({ notes: 2, copied: 0 })
    expect(await inRows(stores => stores.notes(shot).notes())).to.deep.equal(newer)
    expect(copiedBy(await migrate('--from'))).to.include({ notes: 2, copied: 2 })
    expect(await inFiles().notes(shot).notes()).to.deep.equal(newer)
  })

  it('removes the oldest checkpoints of notes where a document is full, and no other', async () => {
    const second = (at: number) => `2026-01-02T03:04:${String(at).padStart(2, '0')}.000Z`
    const ofNote = (at: number) => ({ created_at: second(at), of_note: true })
    const stores = inFiles()
    for (let at = 0; at < 60; at++) await add(stores, shot, `c${at}`)
    for (const at of [2, 3, 4, 5]) await add(stores, shot, `note-${idOf(at)}`, ofNote(at))
    await inRows(async rows => {
      for (const at of [0, 1]) await add(rows, shot, `note-${idOf(at)}`, ofNote(at))
      expect(copiedBy(await migrate('--to'))).to.include({ checkpoints: 64 })
      expect(await rowsNow()).to.deep.equal(filesNow())
      for (const at of [6, 7]) await add(rows, shot, `note-${idOf(at)}`, ofNote(at))
      expect(copiedBy(await migrate('--to'))).to.include({ checkpoints: 62, copied: 0 })
      expect(copiedBy(await migrate('--from'))).to.include({ checkpoints: 64, copied: 2 })
      expect(await rowsNow()).to.deep.equal(filesNow())
      for (const at of [4, 5, 6, 7]) await rows.checkpoints(shot).remove(`note-${idOf(at)}`)
      for (let at = 0; at < 4; at++) await add(rows, shot, `d${at}`)
    })
    for (const at of [4, 5, 6, 7]) await stores.checkpoints(shot).remove(`note-${idOf(at)}`)
    await add(stores, shot, 'more')
    const before = await rowsNow()
    const { code, stdout } = await migrate('--to')
    expect(code).to.equal(1)
    expect(JSON.parse(stdout).error.code).to.equal('storage_full')
    expect(stdout).to.contain(`document ${shot} at ${database.name}: a document has at most 64`)
    expect(await rowsNow()).to.deep.equal(before)
  })

  it('names damaged notes and checkpoints, and copies all others', async () => {
    const stores = inFiles()
    for (const number of [1, 2]) await write(stores, shot, noteOf(number))
    for (const name of ['one', 'two']) await add(stores, shot, name)
    fs.writeFileSync(join(data, shot, 'notes', `${idOf(1)}.json`), '{"id":')
    const scene = join(data, shot, 'checkpoints', `${hash('sha256', 'one').slice(0, 32)}.scene.gz`)
    const bytes = fs.readFileSync(scene)
    bytes[20] = (bytes[20] ?? 0) ^ 1
    fs.writeFileSync(scene, bytes)
    const { code, stdout, stderr } = await migrate('--to')
    expect(code).to.equal(1)
    expect(stderr).to.contain(`note ${idOf(1)} of document ${shot} is damaged`)
    expect(stderr).to.contain(`checkpoint "one" of document ${shot} is damaged`)
    const [line = '', failure = ''] = stdout.split('\n')
    const expected = { notes: 1, checkpoints: 1, copied: 2, damaged: 2 }
    expect(JSON.parse(line).documents).to.include(expected)
    expect(JSON.parse(failure).error.message).to.contain('2 notes and checkpoints')
  })

  it('leaves documents without a path to the account that has them', async () => {
    await write(inFiles(), `${shot}.local`, noteOf(1))
    await write(inFiles(), shot, noteOf(2))
    expect(copiedBy(await migrate('--to'))).to.include({ notes: 2, others: 0 })
    const far = { XDG_DATA_HOME: join(home, 'far') }
    expect(copiedBy(await migrate('--from', far))).to.include({ notes: 1, others: 1 })
    expect(fs.readdirSync(join(home, 'far/service-cli/documents'))).to.deep.equal([shot])
    const words = args('--from').filter(word => word !== '--json')
    const { stdout, stderr } = await runProgram(words, { env: cleanEnv({ ...env(), ...far }) })
    const bytes = JSON.stringify(noteOf(2)).length
    expect((stdout + stderr).split('\n')).to.include.members([
      `${far.XDG_DATA_HOME}/service-cli/documents has 1 note and 0 checkpoints (${bytes} B) of ${database.name}; every copy was compared`,
      'copied in this run: 0 artefacts, 0 notes and checkpoints; the source is unchanged',
      'left out: 1 document without a path, of other machines or accounts',
    ])
  })

  it('says in plain words that a bucket must be named', async () => {
    const given = async (...flags: string[]) => {
      const { code, stderr } = await runCommand(['artefacts', 'migrate', ...flags])
      expect(code).to.equal(2)
      return stderr.replaceAll(/\n */g, ' ')
    }
    const missing = await given()
    expect(missing).to.contain('no bucket is named: give --to')
    expect(missing).to.contain('artefacts migrate --to s3://renders/service-cli')
    expect(await given('--to', 's3://a', '--from', 's3://b')).to.contain('exclude each other')
  })
})
