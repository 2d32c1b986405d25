import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { HostClient, type HostClientOptions, type ShownNotes } from '../../../src/host-client.ts'
import { RawSession } from '../../helpers/mcp.ts'
import { until } from '../../helpers/until.ts'
import { serveInProcess } from '../../helpers/in-process-servers.ts'
import type { RunningServe } from '../../helpers/serve-process.ts'

describe('notes of a program with the client', () => {
  let home: string
  let serve: RunningServe
  let host: HostClient | null

  beforeEach(async () => {
    home = await mkdtemp(join(tmpdir(), 'host-notes-'))
    await start()
    host = null
  })
  afterEach(async () => {
    await host?.stop()
    await serve.stop()
    await rm(home, { recursive: true, force: true })
  })

  async function start(...flags: string[]): Promise<void> {
    const env = { XDG_DATA_HOME: join(home, 'data') }
    serve = await serveInProcess({ env, registryDir: home, flags })
  }
  async function connect(options: Partial<HostClientOptions> = {}): Promise<HostClient> {
    host = new HostClient({
      app: { dccType: 'pipeline', mode: 'gui' },
      registryDir: home,
      ...options,
    })
    host.start()
    await host.connected({ timeoutMs: 10_000 })
    return host
  }
  const codeOf = (promise: Promise<unknown>) =>
    promise.then(
      () => 'kept',
      error => error.code,
    )

  it('are made, answered and settled, each with what it became', async () => {
    const client = await connect()
    client.setScene({ objects: [{ id: 'Ball', name: 'Ball' }] })
    await client.sceneSettled()
    const view = { zoom: 8 }
    const targets = ['Ball', { id: 'Box', name: 'The box' }]
    const note = { text: 'Higher', author: 'ada', targets, position: [1, 2, 3], view, frame: 7 }
    const made = await client.addNote(note as any)
    expect(made).to.deep.equal({ id: made.id, number: 1, state: 'open' })
    const session = await RawSession.open(serve.url)
    const read = () => session.readJson(`notes://${made.id}`) as any
    const { targets: kept, checkpoint, ...rest } = await read()
    expect(rest).to.deep.include({ text: 'Higher', author: 'ada', position: [1, 2, 3], view })
    expect(kept[0]).to.deep.equal({ id: 'Ball', name: 'Ball' })
    expect(kept[1]).to.include({ id: 'Box', gone: true })
    expect(checkpoint).to.equal(`note-${made.id}`)
    const by = 'ada'
    expect(await client.actOnNote(made.id, 'answer', { text: 'Done', by })).to.include({
      state: 'answered',
    })
    expect(await client.actOnNote(made.id, 'accept')).to.include({ state: 'accepted' })
    const { entries } = await read()
    expect(entries[0]).to.include({ action: 'answer', by: 'ada', text: 'Done' })
    expect(entries[0].proof).to.include({ settled: true })
    expect(entries[1]).to.include({ action: 'accept', by: 'unknown' })
  })

  it('are refused with the code of the server, and without a link', async () => {
    const client = await connect()
    expect(await codeOf(client.addNote({ text: '' }))).to.equal('invalid')
    expect(await codeOf(client.actOnNote('nothing', 'accept'))).to.equal('not_found')
    const { id } = await client.addNote({ text: 'one' })
    expect(await codeOf(client.actOnNote(id, 'accept'))).to.equal('invalid')
    await client.addNote({ text: 'a number', frame: Number.NaN }).then(
      () => expect.fail('it was kept'),
      error => expect(error).to.be.instanceOf(TypeError),
    )
    await client.stop()
    expect(await codeOf(client.addNote({ text: 'two' }))).to.equal('disconnected')
    await serve.stop()
    await start('--no-notes')
    expect(await codeOf((await connect()).addNote({ text: 'three' }))).to.equal('unsupported')
  })

  it('are told whenever they change, and not while the link is down', async () => {
    const shown: ShownNotes[] = []
    const client = await connect({ onNotes: notes => shown.push(notes) })
    const states = () => shown.at(-1)?.notes.map((note: any) => note.state)
    await until(() => states()?.length === 0, 'that there are none')
    expect(shown.at(-1)?.pictures).to.be.a('string')
    const { id } = await client.addNote({ text: 'one' })
    await until(() => states()?.join() === 'open', 'the note')
    await serve.post(`notes/${id}/answer`, { text: 'Done' })
    await until(() => states()?.join() === 'answered', 'the answer')
    await serve.stop()
    await until(() => shown.at(-1)?.pictures === null, 'the end of the link')
    expect(shown.at(-1)?.notes).to.deep.equal([])
    await start()
    await until(() => states()?.join() === 'answered', 'the same note')
  })
})
