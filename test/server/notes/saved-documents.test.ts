import { expect } from 'chai'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { newFolder } from '../../helpers/cleanup.ts'
import { rgbPng } from '../../helpers/pictures.ts'
import { serveInProcess } from '../../helpers/in-process-servers.ts'
import { runCommand } from '../../helpers/in-process.ts'
import { LinkClient } from '../../helpers/link.ts'
import { RawSession } from '../../helpers/mcp.ts'
import { folderOfNote } from '../../helpers/note-files.ts'
import type { RunningServe } from '../../helpers/serve-process.ts'
import { until } from '../../helpers/until.ts'

const png = rgbPng(new Uint8Array(16 * 8 * 3).fill(100), 16, 8)
const unsaved = { name: 'unsaved 2026-01-01 00:00:00' }
const cube = (x: number) => ({ objects: [{ id: 'Cube', name: 'Cube', translate: [x, 0, 0] }] })

for (const where of ['of their own', 'on a share']) {
  describe(`notes in a folder ${where}`, () => {
    let home: string
    let documents: string
    let serve: RunningServe
    let session: RawSession
    let app: LinkClient

    beforeEach(async () => {
      home = newFolder()
      documents = where === 'on a share' ? join(home, 'share') : own()
      await mkdir(documents, { recursive: true, mode: 0o700 })
      const flags =
        where === 'on a share'
          ? ['--documents-dir', documents]
          : ['--limit', 'maxMessageBytes=100000']
      serve = await serveInProcess({ env: envOf(), registryDir: home, flags })
      session = await RawSession.open(serve.url)
      const capture = { targets: ['viewport'], shots: true }
      const paint = { dcc_type: 'paint', mode: 'gui', pid: process.pid }
      app = await LinkClient.connect(serve, { app: paint, capture, document: unsaved })
      app.answer = () => ({ png, view: { zoom: 1 } })
      await app.done({ type: 'scene.set', scene: cube(0) })
    })

    const envOf = () => ({ HOME: home, XDG_DATA_HOME: join(home, 'data') })
    const own = () => join(home, 'data/service-cli/documents')
    const open = (document: object) => app.done({ type: 'app.update', document })
    const list = async (): Promise<any[]> => ((await session.readJson('notes://all')) as any).notes
    /** A note with an answer that is proved, and its whole JSON. */
    const answered = async () => {
      const members = { text: 'Higher', author: 'ada', targets: ['Cube'], view: { zoom: 1 } }
      const { id } = (await serve.post('notes', members)).json.note
      await app.done({ type: 'scene.set', scene: cube(3) })
      await serve.post(`notes/${id}/answer`, { by: 'agent', text: 'Raised' })
      return whole(id)
    }
    const whole = (id: string): Promise<any> => session.readJson(`notes://${id}`)
    const expectPictures = async (note: any) => {
      for (const uri of [note.before, note.entries[0].proof.after]) {
        const { result } = await session.call('resources/read', { uri })
        expect(Buffer.from(result.contents[0].blob, 'base64').equals(png), uri).to.equal(true)
      }
    }
    const command = (...words: string[]) =>
      runCommand([...words, `--registry-dir=${home}`], { env: { HOME: home } })

    it('move with a document that is saved for the first time', async () => {
      const note = await answered()
      await serve.post('checkpoints', { name: 'mine' })
      await open({ path: '/shots/010.paint', saved_from: unsaved.name })
      await until(async () => (await list()).length === 1, 'the notes')
      expect(await whole(note.id)).to.deep.equal(note)
      await expectPictures(note)
      const { checkpoints } = (await session.readJson('scene://checkpoints')) as any
      expect(checkpoints.map(({ name }: any) => name)).to.deep.equal([note.checkpoint, 'mine'])
      // What the note is compared with came with it.
      await serve.post(`notes/${note.id}/reopen`, { text: 'Again' })
      const again = (await serve.post(`notes/${note.id}/answer`, { text: 'Done' })).json.note
      expect(again.entries.at(-1).proof.asked).to.deep.equal(['Cube moved 3.00 along x'])
      expect((await readdir(own())).filter(name => name.endsWith('.local'))).to.deep.equal([])
      expect(await folderOfNote(documents, note.id)).to.contain(documents)
      await open(unsaved)
      expect(await list()).to.deep.equal([])
    })

    it('that are damaged or being answered move, too, and nothing is left behind', async () => {
      const damaged = await answered()
      const members = { text: 'Higher', targets: ['Cube'], view: { zoom: 1 } }
      const { id } = (await serve.post('notes', members)).json.note
      const half = await folderOfNote(own(), damaged.id)
      const answer = await readFile(join(half, '0001-answer.json'), 'utf8')
      await writeFile(join(half, '0001-answer.json'), answer.slice(0, 20))
      await app.done({ type: 'scene.set', scene: cube(5) })
      const answering = serve.post(`notes/${id}/answer`, { text: 'Raised' })
      await until(async () => (await whole(id)).state === 'answered', 'the answer')
      await open({ path: '/shots/010.paint', saved_from: unsaved.name })
      const { proof } = (await answering).json.note.entries[0]
      expect(proof.asked).to.deep.equal(['Cube moved 2.00 along x'])
      expect(await whole(id)).to.deep.equal((await answering).json.note)
      const moved = await folderOfNote(documents, damaged.id)
      await writeFile(join(moved, '0001-answer.json'), answer)
      expect(await whole(damaged.id)).to.deep.equal(damaged)
    })

    it('are copied when the document is saved under another path', async () => {
      await open({ path: '/shots/010.paint' })
      const note = await answered()
      await open({ path: '/shots/020.paint', saved_from: '/shots/010.paint' })
      await until(async () => (await list()).length === 1, 'the notes')
      expect(await whole(note.id)).to.deep.equal(note)
      await expectPictures(note)
      expect((await serve.post(`notes/${note.id}/accept`, {})).status).to.equal(200)
      // Each path goes on by itself.
      await open({ path: '/shots/010.paint' })
      expect(await whole(note.id)).to.deep.equal(note)
      await open({ path: '/shots/020.paint', saved_from: '/shots/010.paint' })
      expect((await list()).map(({ state }) => state)).to.deep.equal(['accepted'])
    })

    // The rest is the same on a share.
    if (where === 'on a share') return

    it('stay where they are when another document is opened', async () => {
      await answered()
      await open({ path: '/shots/030.paint' })
      expect(await list()).to.deep.equal([])
      await open({ path: '/shots/040.paint', saved_from: '/shots/elsewhere.paint' })
      expect(await list()).to.deep.equal([])
      await open(unsaved)
      expect(await list()).to.have.length(1)
    })

    it('stay where they are when another application saves a document of the same name', async () => {
      const note = await answered()
      const other = await serveInProcess({ env: envOf(), registryDir: home })
      const path = '/shots/070.paint'
      for (const document of [unsaved, { path, saved_from: unsaved.name }]) {
        await other.post('app', { document, dcc_type: 'paint' })
      }
      const { number } = (await other.post('notes', { text: 'Mine' })).json.note
      await other.stop()
      expect(number).to.equal(1)
      expect(await whole(note.id)).to.deep.equal(note)
    })

    it('stay where they are when they cannot follow, and the log has the reason', async () => {
      await open({ path: '/shots/060.paint' })
      await serve.post('notes', { text: 'There before' })
      const [there = ''] = (await readdir(documents)).filter(name => !name.endsWith('.local'))
      await open(unsaved)
      const note = await answered()
      await rm(join(documents, there), { recursive: true })
      await writeFile(join(documents, there), 'no folder')
      await open({ path: '/shots/060.paint', saved_from: unsaved.name })
      const isSaid = () => serve.output().stderr.includes('notes could not follow their document')
      await until(isSaid, 'the log line')
      await open(unsaved)
      expect(await whole(note.id)).to.deep.equal(note)
    })

    it('are exported to one file and imported from it, with proofs and pictures', async () => {
      await open({ path: '/shots/010.paint' })
      const note = await answered()
      const file = join(home, 'notes.json')
      expect((await command('notes', 'export', '--out', file)).stdout).to.equal(`saved ${file}\n`)
      expect((await command('notes', 'export')).stdout).to.equal(await readFile(file, 'utf8'))
      expect((await command('notes', 'export', '--out', file)).stderr).to.contain('already exists')
      await open({ path: '/shots/050.paint' })
      await serve.post('notes', { text: 'There before' })
      expect((await command('notes', 'import', file)).stdout).to.equal('imported 1 note\n')
      // The scene is not in the file.
      expect(await whole(note.id)).to.deep.equal({ ...note, number: 2, checkpoint: null })
      await expectPictures(note)
      expect((await command('notes', 'import', file)).stdout).to.equal(
        'imported 0 notes; the document already has 1\n',
      )
      expect(await list()).to.have.length(2)
      const audit = (await session.readJson('audit://recent?limit=1')) as any
      expect(audit.entries[0]).to.include({ action: 'note.import' })
    })

    it('are exported and imported without one that cannot be, which is named', async () => {
      await open({ path: '/shots/010.paint' })
      const note = await answered()
      const [half, large] = await Promise.all([
        serve.post('notes', { text: 'Half' }),
        serve.post('notes', { text: 'Large' }),
      ])
      const folderOf = async ({ json }: any) => folderOfNote(documents, json.note.id)
      await writeFile(join(await folderOf(half), '0001-close.json'), '{"half')
      await writeFile(join(await folderOf(large), 'before.png'), Buffer.alloc(100_000))
      const exported = await command('notes', 'export')
      expect(exported.code).to.equal(1)
      expect(exported.stderr).to.contain('damaged, or too large for an import: 2, 3;')
      const { notes } = JSON.parse(exported.stdout)
      expect(notes).to.have.length(1)
      const file = join(home, 'notes.json')
      await writeFile(file, JSON.stringify({ notes: [{}, ...notes] }))
      await open({ path: '/shots/050.paint' })
      const imported = await command('notes', 'import', file)
      expect(imported).to.include({ code: 1, stdout: 'imported 1 note\n' })
      expect(imported.stderr).to.contain('note 1 of the file is not imported')
      expect(await whole(note.id)).to.deep.equal({ ...note, checkpoint: null })
    })

    it('are not imported from anything else', async () => {
      const exported = JSON.parse((await command('notes', 'export')).stdout)
      expect(exported).to.deep.equal({ notes: [] })
      const file = join(home, 'notes.json')
      const refusals: [content: string, words: string][] = [
        ['{', 'has no exported notes'],
        ['{"notes":[{}]}', 'this is no exported note'],
        ['{"notes":[{"files":{"../x":1}}]}', 'is not the name of a file of a note'],
        ['{"notes":[{"files":{"0000-add.json":{}}}]}', '0000-add.json is damaged'],
      ]
      for (const [content, words] of refusals) {
        await writeFile(file, content)
        const { code, stderr } = await command('notes', 'import', file)
        expect(code, content).not.to.equal(0)
        expect(stderr, content).to.contain(words)
      }
      expect(await list()).to.deep.equal([])
    })

    it('say that a picture is missing', async () => {
      const note = await answered()
      await rm(join(await folderOfNote(home, note.id), 'before.png'))
      const { error } = await session.call('resources/read', { uri: note.before })
      expect(error.message).to.contain('note 1 has no picture "before"')
    })
  })
}
