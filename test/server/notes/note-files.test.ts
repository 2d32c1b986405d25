import { expect } from 'chai'
import { chmod, readdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { runCommand } from '../../helpers/in-process.ts'
import { folderOfNote, writeNote } from '../../helpers/note-files.ts'
import { until } from '../../helpers/until.ts'
import { usePerson } from './person.ts'

const open = 'notes://open'

describe('the files of notes', () => {
  const person = usePerson()
  const { home, documents, post, call, read, tool, add, act } = person
  const folderOf = (id: string) => folderOfNote(documents, id)
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
    const entry = { by: 'an agent', at: '2026-01-01T00:00:00Z', text: long(0) }
    for (let number = 2; number <= count; number++) {
      const id = `f${number.toString(16).padStart(7, '0')}`
      const note = { ...first, id, text: long(number) }
      await writeNote(folder, number, note, { '0001-answer.json': entry })
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
          expect(lines[0]).to.equal(`${data.returned} of ${count} notes of /shots/new-0.blend`)
          expect(lines.at(-1)).to.contain(`call list_notes with offset ${offset}`)
        }
      }
      expect(numbers).to.deep.equal(Array.from({ length: count }, (_, at) => at + 1))
    }
    const cut = (await tool('list_notes', { state: 'all', max_chars: 1000 })).content[0].text
    expect(cut.length).to.be.at.most(1000)
    expect(cut).to.contain(`… read_resource notes://${first.id} has the whole note\n`)
    const all = await read('notes://all')
    expect(all).to.include({ total: count })
    expect(all.notes[0].text).to.equal(long(1))
    const lines = (await list()).stdout.trimEnd().split('\n')
    expect(lines).to.have.length(count)
    expect(Math.max(...lines.map(line => line.length))).to.be.below(600)
  })

  it('are 1,000 at most, and a note that is refused costs no other its checkpoint', async () => {
    await post('scene', { objects: [{ id: 'Lamp' }] })
    const note = await add()
    const folder = await folderOf(note.id)
    for (let number = 2; number <= 1000; number++) {
      const id = String(number).padStart(8, '0')
      await writeNote(folder, number, { ...note, id })
    }
    const refused = await post('notes', { text: 'One more' })
    expect(refused.json).to.include({ status: 429, code: 'limit-reached' })
    expect(refused.json.detail).to.contain('a document has at most 1000 notes')
    const { checkpoints } = await read('scene://checkpoints')
    expect(checkpoints.map(({ name }: any) => name)).to.deep.equal([`note-${note.id}`])
  })

  it('take the word of the person also when agents have answered as often as they may', async () => {
    const { id, ...note } = await add()
    const folder = await folderOf(id)
    const pad = (number: number) => String(number).padStart(4, '0')
    const files = Array.from({ length: 99 }, (_, at) => [
      `${pad(at + 1)}-answer.json`,
      { by: 'agent', at: note.created_at, text: 'done' },
    ])
    await writeNote(folder, 1, { id, ...note }, Object.fromEntries(files))
    expect((await tool('answer_note', { id, text: 'again' })).content[0].text).to.equal(
      'note_state: note 1 is answered already, and waits for the person: answer it again only after a reply',
    )
    expect((await act(id, 'answer', { text: 'the last' })).status).to.equal(200)
    const refused = await act(id, 'answer', { text: 'one more' })
    expect(refused.json.detail).to.contain('a note with 100 entries takes no answer')
    expect((await act(id, 'reopen', { text: 'again' })).status).to.equal(200)
    expect((await act(id, 'close')).json.note).to.include({ state: 'closed', id })
    expect((await read(`notes://${id}`)).entries).to.have.length(102)
  })

  it('hide no other note when one of them is damaged, and are there when they are mended', async () => {
    const note = await add()
    const folder = await folderOf(note.id)
    const damaged = [
      { targets: [null] },
      { targets: [{ id: 'a', name: {} }] },
      { author: 7 },
      { created_at: null },
      { id: '../../elsewhere' },
    ]
    for (const [at, members] of damaged.entries()) {
      await writeNote(folder, at + 2, { ...note, ...members })
    }
    const whole = await writeNote(folder, 7, { ...note, id: '0123abcd' })
    const half = join(whole, '0001-close.json')
    await writeFile(half, '{"half')
    expect(await read(open)).to.include({ total: 1 })
    expect((await tool('list_notes')).structuredContent).to.include({ total: 1 })
    expect((await tool('answer_note', { id: '7', text: 'Dimmed' })).content[0].text).to.contain(
      'this document has no such note',
    )
    const isSaid = () => person.serve.output().stderr.includes('a note cannot be read')
    await until(isSaid, 'the log line')
    await writeFile(half, JSON.stringify({ by: 'ada', at: note.created_at }))
    expect(await read('notes://7')).to.include({ id: '0123abcd', state: 'closed' })
    expect(await add()).to.include({ number: 8 })
  })

  it('show an action late that does not fit what another server wrote before it', async () => {
    const note = await add()
    const said = { by: 'ada', at: note.created_at }
    await writeNote(await folderOf(note.id), 1, note, {
      '0001-close.json': said,
      '0002-answer.json': { ...said, text: 'Dimmed' },
      '0003-reopen.json': said,
    })
    const { state, entries } = await read('notes://1')
    expect(state).to.equal('reopened')
    expect(entries.map(({ number, action, late }: any) => [number, action, late])).to.deep.equal([
      [1, 'close', undefined],
      [2, 'answer', true],
      [3, 'reopen', undefined],
    ])
    const env = { HOME: home, SERVICE_REGISTRY_DIR: home }
    const shown = await runCommand(['notes', 'show', '1', `--registry-dir=${home}`], { env })
    expect(shown.stdout).to.contain('answer  by ada (late, changed nothing): Dimmed\n')
  })

  it('are neither read nor written where another user could put one', async () => {
    const note = await add()
    const folder = dirname(await folderOf(note.id))
    await writeNote(join(folder, '0001'), 2, { ...note, id: '0123abcd', text: 'Do as I say' })
    await chmod(folder, 0o777)
    expect(JSON.stringify(await tool('list_notes'))).to.not.include('Do as I say')
    expect((await call('resources/read', { uri: open })).error).to.include({ code: -32603 })
    expect((await post('notes', { text: 'Mine' })).status).to.equal(500)
    expect(await readdir(folder)).to.have.members(['0001', '0002'])
    const isSaid = () => person.serve.output().stderr.includes('is not used: others can change it')
    await until(isSaid, 'the log line')
    await chmod(folder, 0o700)
    await chmod(dirname(folder), 0o777)
    expect((await post('notes', { text: 'Mine' })).status).to.equal(500)
    await chmod(dirname(folder), 0o700)
    expect((await read(open)).total).to.equal(2)
  })
})
