import { expect } from 'chai'
import { mkdir, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expectEnd } from '../../helpers/in-process.ts'
import { newFolder } from '../../helpers/cleanup.ts'
import { serveInProcess } from '../../helpers/in-process-servers.ts'
import { RawSession } from '../../helpers/mcp.ts'
import { folderOfNote, writeNote, writeTogether } from '../../helpers/note-files.ts'
import { type RunningServe, runServe, startServeProcess } from '../../helpers/serve-process.ts'
import { until } from '../../helpers/until.ts'

describe('a folder of documents on a project share', () => {
  let root: string
  let share: string
  let ada: RunningServe
  let bob: RunningServe

  const start = (name: string) => {
    const home = join(root, name)
    return serveInProcess({
      env: { HOME: home, XDG_DATA_HOME: join(home, 'data') },
      flags: ['--documents-dir', share],
    })
  }
  beforeEach(async () => {
    root = newFolder()
    share = join(root, 'share')
    await mkdir(share)
    ;[ada, bob] = await Promise.all([start('ada'), start('bob')])
  })

  const openIn = async (server: RunningServe, document: object) =>
    expect((await server.post('app', { document })).status).to.equal(200)
  const openInBoth = async (path: string) => {
    for (const server of [ada, bob]) await openIn(server, { path })
  }
  const add = async (server: RunningServe, text = 'Too bright') =>
    (await server.post('notes', { text })).json.note
  const all = async (server: RunningServe): Promise<any> =>
    (await RawSession.open(server.url)).readJson('notes://all')

  it('shows each server what others write, and tells its followers', async () => {
    await openInBoth('/shots/010.hip')
    const session = await RawSession.open(bob.url)
    const events = await session.listen()
    for (const uri of ['notes://open', 'notes://all']) {
      await session.call('resources/subscribe', { uri })
    }
    const { id } = await add(ada)
    const told = () => ['notes://open', 'notes://all'].every(uri => events.updates.includes(uri))
    await events.until(told, 'the note of another machine')
    expect(await session.readJson('notes://1')).to.include({ id, text: 'Too bright' })
    const { json } = await bob.post('notes/1/answer', { by: 'an agent', text: 'Dimmed' })
    expect(json.note.entries[0].proof).to.include({ settled: true })
    expect((await ada.post('notes/1/accept', {})).json.note.entries).to.have.length(2)
    expect((await bob.post('notes/1/accept', {})).json.detail).to.contain('note 1 is accepted')
    await ada.post('scene', { objects: [{ id: 'Cube' }] })
    await ada.post('checkpoints', { name: 'before' })
    const { checkpoints } = (await session.readJson('scene://checkpoints')) as any
    expect(checkpoints.map(({ name }: any) => name)).to.deep.equal(['before'])
  })

  it('has no document without a path: those stay with their user', async () => {
    for (const server of [ada, bob]) await openIn(server, { name: 'untitled' })
    await add(ada)
    expect((await all(bob)).total).to.equal(0)
    expect(await readdir(share)).to.deep.equal([])
  })

  it('gives way to no link, no bad name and no file that is too large', async () => {
    await openInBoth('/shots/010.hip')
    const note = await add(ada)
    const folder = await folderOfNote(share, note.id)
    const said = { by: 'eve', at: note.created_at, text: 'Do as I say' }
    const outside = await writeNote(join(root, 'outside', '0001'), 1, { ...note, id: '0000000a' })
    await symlink(outside, join(dirname(folder), '0002'))
    await writeFile(join(root, 'said.json'), JSON.stringify(said))
    await symlink(join(root, 'said.json'), join(folder, '0001-close.json'))
    for (const name of [
      '1-close.json',
      '0001-obey.json',
      '0001-close.json.tmp',
      '0002-close.txt',
    ]) {
      await writeFile(join(folder, name), JSON.stringify(said))
    }
    for (const name of ['2', '00003', 'abcd', '..3']) {
      await rename(
        await writeNote(folder, 9, { ...note, id: '0000000b' }),
        join(dirname(folder), name),
      )
    }
    const large = await writeNote(folder, 3, { ...note, id: '0000000c', text: 'x'.repeat(2 ** 20) })
    expect(await all(bob)).to.include({ total: 1 })
    const session = await RawSession.open(bob.url)
    expect(await session.readJson('notes://1')).to.deep.include({ state: 'open', entries: [] })
    await rm(large, { recursive: true })
    // Neither is a document that is a link.
    const document = dirname(dirname(folder))
    await rename(document, join(root, 'moved'))
    await symlink(join(root, 'moved'), document)
    const refused = await session.call('resources/read', { uri: 'notes://all' })
    expect(refused.error).to.include({ code: -32603 })
    expect((await bob.post('notes', { text: 'Mine' })).status).to.equal(500)
  })

  it('keeps every action that two servers take at the same time, and none twice', async () => {
    const other = await startServeProcess({ flags: ['--documents-dir', share] })
    const { notes } = await writeTogether([ada, other], '/shots/020.hip', 1000)
    expect(notes).to.be.above(5)
  })

  it('is not made again when it is gone, and is used again when it is back', async () => {
    await openInBoth('/shots/010.hip')
    await add(ada)
    await openIn(ada, { path: '/shots/020.hip' })
    await rename(share, join(root, 'unmounted'))
    const session = await RawSession.open(bob.url)
    for (const uri of ['notes://all', 'scene://checkpoints']) {
      const { error } = await session.call('resources/read', { uri })
      expect(error, uri).to.include({ code: -32603 })
    }
    const document = { path: '/shots/030.hip', saved_from: '/shots/020.hip' }
    await openIn(ada, document)
    const isSaid = () => ada.output().stderr.includes('notes could not follow their document')
    await until(isSaid, 'the log line')
    await bob.post('scene', { objects: [] })
    expect((await bob.post('notes', { text: 'Lost?' })).status).to.equal(500)
    expect((await bob.post('checkpoints', { name: 'lost' })).status).to.equal(500)
    expect(await readdir(root)).not.to.include('share')
    await rename(join(root, 'unmounted'), share)
    expect((await all(bob)).total).to.equal(1)
  })

  it('must be there when the server starts', async () => {
    expectEnd(await runServe(['--documents-dir', join(root, 'none')]), 2, 'none is not a folder')
  })
})
