import { expect } from 'chai'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { userName } from '../../src/lib/util/posix.ts'
import { newFolder } from '../helpers/cleanup.ts'
import { serveInProcess } from '../helpers/in-process-servers.ts'
import { runCommand } from '../helpers/in-process.ts'
import { LinkClient } from '../helpers/link.ts'
import { RawSession, toolCall } from '../helpers/mcp.ts'
import type { RunningServe } from '../helpers/serve-process.ts'

describe('service-cli notes and checkpoint', () => {
  let home: string
  let serve: RunningServe
  let document: { path: string }
  let shots = 0
  const env = () => ({ HOME: home, XDG_DATA_HOME: join(home, 'data'), SERVICE_REGISTRY_DIR: home })

  before(async () => {
    home = newFolder()
    serve = await serveInProcess({ env: env(), registryDir: home })
  })
  /** Notes are of a document: each test has one of its own. */
  beforeEach(async () => {
    document = { path: `/shots/new-${shots++}.blend` }
    await serve.post('app', { document })
  })

  const run = (...words: string[]) =>
    runCommand([...words, `--registry-dir=${home}`], { env: env() })
  const notes = (...words: string[]) => run('notes', ...words)
  const add = async (text: string) => (await serve.post('notes', { text })).json.note

  it('makes a note, shows it and settles it', async () => {
    const made = await notes('add', 'Too bright', '--object', 'Lamp', '--by', 'ada')
    expect(made.stderr).to.equal('')
    expect(made.stdout).to.match(/^1 {2}open {6}[0-9a-f]{8} {2}ada: Too bright \(Lamp\)\n$/)
    expect((await notes('add', ' ')).stderr).to.contain('text: must not be empty')
    expect((await notes('list')).stdout).to.equal(made.stdout)
    expect((await notes('accept', '1')).stderr).to.contain('note 1 is open: accept does not apply')
    expect((await notes('answer', '1', 'dimmed')).code).to.equal(0)
    expect((await notes('accept', '1')).stdout).to.contain('accepted')
    expect((await notes('list')).stderr).to.equal('no open notes\n')
    expect((await notes('list', '--all')).stdout).to.contain('accepted')
    const shown = await notes('show', '1')
    expect(shown.stdout).to.contain(`answer  by ${userName()}: dimmed\n`)
    expect(shown.stdout).to.contain(`accept  by ${userName()}\n`)
    expect(shown.stdout).to.contain('\n     no changes are known: no scene is kept with the note')
    const again = await notes('accept', '1')
    expect(again.code).not.to.equal(0)
    expect(again.stderr).to.contain('note 1 is accepted: accept does not apply')
    expect((await notes('reopen', '1', 'not yet')).stdout).to.contain('reopened')
    expect((await notes('close', '1')).stdout).to.contain('closed')
    const { stderr } = await notes('answer', '1', 'done')
    expect(stderr).to.contain('note 1 is closed: answer does not apply')
  })

  it('warns of an object that the scene does not have, and makes the note all the same', async () => {
    await serve.post('scene', { objects: [{ id: 'Light' }] })
    const made = await notes('add', 'Too bright', '--object', 'Lamp', '--object', 'Light')
    expect(made.stdout).to.contain(': Too bright (Lamp, not in the scene, Light)\n')
    expect(made.stderr).to.equal('warning: the scene has no object "Lamp"\n')
    expect((await notes('add', 'Too bright', '--object', 'Light')).stderr).to.equal('')
    expect((await notes('list')).stdout.trimEnd().split('\n')).to.have.length(2)
    // The scene may have it and not list it.
    await serve.post('scene', { objects: [{ id: 'Light' }], truncated: { total: 2 } })
    const unlisted = await notes('add', 'Too bright', '--object', 'Lamp')
    expect(unlisted.stdout).to.contain(': Too bright (Lamp)\n')
    expect(unlisted.stderr).to.equal('')
  })

  it('makes none once the application has ended the sharing', async () => {
    const app = await LinkClient.connect(serve, { document })
    await app.done({ type: 'scene.set', scene: { objects: [{ id: 'Cube' }] } })
    await notes('add', 'Too dark')
    const session = await RawSession.open(serve.url)
    const head = async () =>
      (await session.call('tools/call', toolCall('list_notes'))).result.content[0].text
    expect(await head()).to.match(/^1 open note of .+\n1 \(/)
    app.say({ type: 'bye', clear: true })
    await app.closed
    for (const words of ['add x', 'show 1', 'answer 1 done', 'accept 1', 'list']) {
      const { stdout, stderr } = await notes(...words.split(' '))
      expect(stdout, words).to.equal('')
      expect(stderr, words).to.contain('no document is shared')
    }
    expect(await head()).to.match(/^no open notes; no document is shared/)
  })

  it('wraps notes on a terminal', async () => {
    await add('Too bright, too far to the left, and too close to the camera of the shot')
    const { stdout } = await notes('list')
    const screen = Object.assign(new PassThrough(), { isTTY: true, columns: 80 })
    const words = ['notes', 'list', `--registry-dir=${home}`]
    await runCommand(words, { env: env(), stdout: screen })
    expect(String(screen.read())).to.equal(stdout.replace(' to the camera', '\n  to the camera'))
  })

  it('makes and removes a checkpoint', async () => {
    await serve.post('scene', { objects: [{ id: 'Cube' }] })
    const made = await run('checkpoint', 'before lights')
    expect(made.stdout).to.equal('checkpoint "before lights" made\n')
    const shown = await run('resources', 'read', 'scene://delta?since=before%20lights')
    expect(shown.stdout).to.include('before lights')
    const again = await run('checkpoint', 'before lights')
    expect(again.stderr).to.include('already').and.to.include('--remove')
    const removed = await run('checkpoint', 'before lights', '--remove')
    expect(removed.stdout).to.equal('removed checkpoint "before lights"\n')
  })
})
