import { expect } from 'chai'
import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { serveInProcess } from '../../helpers/in-process-servers.ts'
import { runCommand } from '../../helpers/in-process.ts'
import { RawSession, toolCall } from '../../helpers/mcp.ts'
import type { RunningServe } from '../../helpers/serve-process.ts'
import { until } from '../../helpers/until.ts'

const open = 'notes://open'

describe('the files of notes', () => {
  let home: string
  let serve: RunningServe
  let session: RawSession
  let shots = 0

  before(async () => {
    home = await mkdtemp(join(tmpdir(), 'note-files-'))
    const env = { HOME: home, XDG_DATA_HOME: join(home, 'data') }
    serve = await serveInProcess({ env, registryDir: home })
    session = await RawSession.open(serve.url)
  })
  /** Notes are of a document: each test has one of its own. */
  beforeEach(() => serve.post('app', { document: { path: `/shots/new-${shots++}.blend` } }))
  after(async () => {
    await serve.stop()
    await rm(home, { recursive: true, force: true })
  })

  const read = (uri: string): Promise<any> => session.readJson(uri)
  const tool = async (name: string, args: object = {}) =>
    (await session.call('tools/call', toolCall(name, args))).result
  const add = async (members: object = {}) =>
    (await serve.post('notes', { text: 'Too bright', ...members })).json.note
  const act = (id: string, action: string, members: object = {}) =>
    serve.post(`notes/${id}/${action}`, members)
  /** The folder of the document that has this note. */
  const folderOf = async (id: string) => {
    const documents = join(home, 'data/service-cli/documents')
    const paths = await readdir(documents, { recursive: true })
    return join(documents, dirname(paths.find(path => path.endsWith(`${id}.json`)) ?? ''))
  }
  const list = () => {
    const env = { HOME: home, SERVICE_REGISTRY_DIR: home }
    return runCommand(['notes', 'list', '--all', `--registry-dir=${home}`], { env })
  }

  it('of many long notes are listed in parts, each note once, and nothing is left out', async () => {
    const count = 120
    const long = (at: number) => `wish ${at} "<&\n${'x'.repeat(3900)}`
    const targets = Array.from({ length: 100 }, (_, at) => `${at} ${'n'.repeat(240)}`)
    const first = await add({ text: long(1), targets })
    const folder = await folderOf(first.id)
    const entry = { action: 'answer', by: 'an agent', at: '2026-01-01T00:00:00Z', text: long(0) }
    for (let number = 2; number <= count; number++) {
      const id = `f${number.toString(16).padStart(7, '0')}`
      const note = { ...first, id, number, text: long(number), entries: [entry] }
      await writeFile(join(folder, `${id}.json`), JSON.stringify(note))
    }
    for (const given of [{}, { max_chars: 50_000 }]) {
      const { max_chars: most = 8000 } = given
      const numbers: number[] = []
      let offset: number | undefined = 0
      while (offset !== undefined) {
        const args = { state: 'all', offset, ...given }
        const { content, structuredContent: data } = await tool('list_notes', args)
        expect(content[0].text.length).to.be.at.most(most)
        expect(data.returned).to.be.greaterThan(0)
        expect(data.total).to.equal(count)
        numbers.push(...data.notes.map(({ number }: any) => number))
        offset = data.next_offset
        if (offset !== undefined) {
          const lines = content[0].text.split('\n')
          expect(lines).to.have.length(data.returned + 2)
          expect(lines[0]).to.equal(`${data.returned} of ${count} notes`)
          expect(lines.at(-1)).to.contain(`call list_notes with offset ${offset}`)
        }
      }
      expect(numbers).to.deep.equal(Array.from({ length: count }, (_, at) => at + 1))
    }
    const last = await read('notes://all?offset=110')
    expect(last).to.include({ total: count, returned: 10 }).and.not.to.have.property('next_offset')
    const page = await read('notes://all')
    expect(page).to.include({ total: count, returned: 100, next_offset: 100 })
    expect(page.notes[0].text).to.equal(long(1))
    const lines = (await list()).stdout.trimEnd().split('\n')
    expect(lines).to.have.length(count)
    expect(Math.max(...lines.map(line => line.length))).to.be.below(600)
  })

  it('are 1,000 at most, and a note that is refused costs no other its checkpoint', async () => {
    await serve.post('scene', { objects: [{ id: 'Lamp' }] })
    const note = await add()
    const folder = await folderOf(note.id)
    for (let number = 2; number <= 1000; number++) {
      const id = String(number).padStart(8, '0')
      await writeFile(join(folder, `${id}.json`), JSON.stringify({ ...note, id, number }))
    }
    const refused = await serve.post('notes', { text: 'One more' })
    expect(refused.json).to.include({ status: 429, code: 'limit-reached' })
    expect(refused.json.detail).to.contain('a document has at most 1000 notes')
    const { checkpoints } = await read('scene://checkpoints')
    expect(checkpoints.map(({ name }: any) => name)).to.deep.equal([`note-${note.id}`])
  })

  it('take the word of the person also when agents have answered as often as they may', async () => {
    const { id } = await add()
    const path = join(await folderOf(id), `${id}.json`)
    const note = JSON.parse(await readFile(path, 'utf8'))
    const answer = async (text: string, lines: string[]) => {
      const proof = { settled: true, revision: 1, asked: lines, also_changed: lines }
      const entry = { action: 'answer', by: 'agent', at: note.created_at, text, proof }
      const entries = Array.from({ length: 99 }, () => entry)
      await writeFile(path, JSON.stringify({ ...note, state: 'answered', entries }))
    }
    await answer('done', ['Lamp'])
    expect((await tool('answer_note', { id, text: 'again' })).content[0].text).to.equal(
      'note_state: note 1 is answered already, and waits for the person: answer it again only after a reply',
    )
    expect((await act(id, 'answer', { text: 'the last' })).status).to.equal(200)
    const refused = await act(id, 'answer', { text: 'one more' })
    expect(refused.json.detail).to.contain('a note with 100 entries takes no answer')
    expect((await act(id, 'reopen', { text: 'again' })).status).to.equal(200)
    expect((await act(id, 'close')).json.note).to.include({ state: 'closed', id })
    expect((await read(`notes://${id}`)).entries).to.have.length(102)

    // As long as an answer can be as JSON, with the longest proofs.
    const longest = Array.from({ length: 30 }, () => '\u0001'.repeat(300))
    await answer('\u0001'.repeat(4000), longest)
    expect((await act(id, 'accept')).json.note).to.include({ state: 'accepted', id })
    expect((await read(`notes://${id}`)).entries).to.have.length(100)
  })

  it('are found by a beginning of the id, also one of digits alone', async () => {
    const note = await add()
    const copy = { ...note, id: '01234abc', number: 2, text: 'of digits' }
    await writeFile(join(await folderOf(note.id), '01234abc.json'), JSON.stringify(copy))
    for (const word of ['2', '01234', '01234abc']) {
      expect((await read(`notes://${word}`)).text, word).to.equal('of digits')
    }
  })

  it('hide no other note when one of them is damaged', async () => {
    const { id } = await add()
    const folder = await folderOf(id)
    await writeFile(join(folder, '0123abcd.json'), '{"half')
    const whole = JSON.parse(await readFile(join(folder, `${id}.json`), 'utf8'))
    const damaged = [
      { targets: [null] },
      { targets: [{ id: 'a', name: {} }] },
      { entries: [{}] },
      { author: 7 },
      { created_at: null },
      { id: '../../elsewhere' },
    ]
    for (const [at, members] of damaged.entries()) {
      const note = { ...whole, id: `0000000${at}`, ...members }
      await writeFile(join(folder, `0000000${at}.json`), JSON.stringify(note))
      expect((await read(open)).total, JSON.stringify(members)).to.equal(1)
      const listed = await tool('list_notes')
      expect(listed.structuredContent, JSON.stringify(members)).to.include({ total: 1 })
    }
    expect(await add()).to.include({ number: 2 })
    const isSaid = () => serve.output().stderr.includes('a note cannot be read')
    await until(isSaid, 'the log line')
  })

  it('that cannot be read are named, and there again when they are mended', async () => {
    const { id } = await add()
    const file = join(await folderOf(id), `${id}.json`)
    const whole = await readFile(file)
    expect(await read(open)).not.to.have.property('damaged')
    await writeFile(file, '')
    const next = await add({ text: 'Another' })
    expect(await read(open)).to.deep.include({ total: 1, damaged: [id] })
    expect(await read('notes://all')).to.deep.include({ total: 1, damaged: [id] })
    const listed = await tool('list_notes')
    expect(listed.structuredContent).to.deep.include({ total: 1, damaged: [id] })
    expect(listed.content[0].text).to.contain(`\ndamaged, cannot be read: ${id}`)
    const answered = await tool('answer_note', { id, text: 'Dimmed' })
    expect(answered.content[0].text).to.contain(`note ${id} cannot be read`)
    const numbered = await tool('answer_note', { id: '7', text: 'Dimmed' })
    const known = `unsettled: 1 (${next.id}); cannot be read: ${id}`
    expect(numbered.content[0].text).to.contain(`no such note; ${known}`)
    expect((await list()).stderr).to.contain(`note ${id} cannot be read; the log`)
    await writeFile(file, whole)
    const { notes } = await read(open)
    expect(notes.map((note: any) => note.id)).to.have.members([id, next.id])
  })

  it('are neither read nor written where another user could put one', async () => {
    const note = await add()
    const folder = await folderOf(note.id)
    const planted = { ...note, id: '0123abcd', number: 2, text: 'Do as I say' }
    await writeFile(join(folder, '0123abcd.json'), JSON.stringify(planted))
    await chmod(folder, 0o777)
    expect(JSON.stringify(await tool('list_notes'))).to.not.include('Do as I say')
    expect((await session.call('resources/read', { uri: open })).error).to.include({ code: -32603 })
    expect((await serve.post('notes', { text: 'Mine' })).status).to.equal(500)
    expect((await readdir(folder)).length).to.equal(2)
    const isSaid = () => serve.output().stderr.includes('is not used: others can change it')
    await until(isSaid, 'the log line')
    await chmod(folder, 0o700)
    await chmod(dirname(folder), 0o777)
    expect((await serve.post('notes', { text: 'Mine' })).status).to.equal(500)
    await chmod(dirname(folder), 0o700)
    expect((await read(open)).total).to.equal(2)
  })
})
