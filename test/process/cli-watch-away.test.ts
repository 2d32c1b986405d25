import { expect } from 'chai'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LinkClient } from '../helpers/link.ts'
import { runCommand } from '../helpers/in-process.ts'
import { serveInProcess } from '../helpers/in-process-servers.ts'
import { exitOf } from '../helpers/program.ts'
import { type RunningServe, startServeProcess } from '../helpers/serve-process.ts'
import { until } from '../helpers/until.ts'
import { follow } from './follow.ts'

describe('service-cli resources watch of what goes away', () => {
  let registryDir: string
  let serve: RunningServe
  const folder = () => `--registry-dir=${registryDir}`
  const settings = () => ({ registryDir, flags: ['--dcc-type=maya'] })
  const start = () => serveInProcess(settings())

  // Tests that end the server leave another one behind.
  before(async () => {
    registryDir = await mkdtemp(join(tmpdir(), 'cli-watch-away-'))
    serve = await start()
  })
  after(async () => {
    await serve?.stop()
    await rm(registryDir, { recursive: true, force: true })
  })

  it('says when the application goes and comes back, with --settle, too', async () => {
    const application = await LinkClient.connect(serve)
    await application.done({ type: 'scene.set', scene: { frame: 1 } })
    const screen = follow(['resources', 'watch', 'scene://current', folder()])
    const json = follow([
      'resources',
      'watch',
      'scene://current',
      '--json',
      '--settle=100ms',
      folder(),
    ])
    const both = (count: number) => () =>
      screen.lines().length >= count && json.lines().length >= count
    await until(both(1), 'the first lines')
    application.ws.close()
    await until(both(2), 'the lines about its end')
    const again = await LinkClient.connect(serve)
    await until(both(3), 'the lines about its return')
    again.ws.close()
    await until(both(4), 'the lines about its second end')
    const read = await runCommand(['resources', 'read', 'scene://current', folder()])
    expect(read.stdout).to.equal('{"frame":1}')
    expect(read.stderr).to.match(/^the application is gone since .*Z; the scene is its last\n$/)
    for (const { child } of [screen, json]) {
      child.kill('SIGINT')
      expect(await exitOf(child)).to.equal(0)
    }
    expect(screen.lines()[1]).to.match(/the application is gone since .*; the scene is its last$/)
    expect(screen.lines()[2]).to.match(/the application is connected again$/)
    expect(json.json()[1]).to.have.nested.property('application.connected', false)
    expect(json.json()[2]).to.have.deep.property('application', { connected: true })
  })

  it('says of an application that left without a scene that there is none', async () => {
    const own = await serveInProcess()
    try {
      await (await LinkClient.connect(own)).bye()
      const gone = () => runCommand(['resources', 'read', 'scene://current', `--url=${own.url}`])
      await until(async () => (await gone()).stderr !== '', 'the remark')
      const { stdout, stderr } = await gone()
      expect(JSON.parse(stdout)).to.include({ status: 'no_snapshot' })
      expect(stderr).to.match(/^the application is gone since .*Z; it left no scene\n$/)
    } finally {
      await own.stop()
    }
  })

  for (const how of ['its stop', 'kill -9'] as const) {
    it(`says that the server is away after ${how}, and goes on`, async () => {
      let end = () => serve.stop()
      if (how === 'kill -9') {
        await serve.stop()
        const program = await startServeProcess(settings())
        serve = program
        end = () => {
          program.signal('SIGKILL')
          return program.exited
        }
      }
      const watch = follow(['resources', 'watch', 'scene://current', '--json', folder()])
      await until(() => watch.lines().length === 1, 'the first line')
      const before = serve.url
      await end()
      serve = await start()
      await until(() => watch.lines().length === 3, 'the line of the restart')
      await serve.post('scene', { frame: 1 })
      await until(() => watch.lines().length === 4, 'the change')
      watch.child.kill('SIGTERM')
      expect(await exitOf(watch.child)).to.equal(0)
      const [first, , restarted, change] = watch.json()
      expect(watch.json().map(({ event }) => event)).to.deep.equal([
        'watching',
        'away',
        'reconnected',
        'changed',
      ])
      expect(first.url).to.equal(before)
      expect(restarted.url).to.equal(serve.url)
      expect(change.revision).to.be.a('number')
    })
  }

  it('says why an application did not answer, and for how long', async () => {
    let isBusy = false
    const application = await LinkClient.connect(serve)
    application.answer = ({ type, uri }) => {
      if (type !== 'read') return undefined
      if (isBusy) return { code: 'busy', message: 'it renders', retryable: true }
      return { contents: [{ uri, mimeType: 'application/json', text: '{}' }] }
    }
    const resources = [{ uri: 'app://Cube', name: 'Cube' }]
    await application.done({ type: 'producer.register', scheme: 'app', resources })
    const watch = follow(['resources', 'watch', 'app://Cube', '--json', folder()])
    await until(() => watch.lines().length === 1, 'the first line')
    isBusy = true
    await application.done({ type: 'resource.updated', uri: 'app://Cube' })
    await until(() => watch.lines().length === 2, 'the line about the application')
    isBusy = false
    await until(() => watch.lines().length === 3, 'the line about its return')
    watch.child.kill('SIGTERM')
    expect(await exitOf(watch.child)).to.equal(0)
    application.ws.close()
    const [, away, back] = watch.json()
    expect(away).to.include({ event: 'away', reason: back.reason })
    expect(back).to.include({ event: 'reconnected' }).and.have.property('away_ms')
    expect(back.reason).to.contain('the application is busy')
  })

  it('says in a pipe that the application of an object went, and that it is back', async () => {
    const connect = async () => {
      const application = await LinkClient.connect(serve)
      application.answer = ({ uri }) => ({ contents: [{ uri, text: 'a cube' }] })
      const resources = [{ uri: 'app://Cube', name: 'Cube' }]
      await application.done({ type: 'producer.register', scheme: 'app', resources })
      return application
    }
    const first = await connect()
    const watch = follow(['resources', 'watch', 'app://Cube', folder()])
    await until(() => watch.lines().length === 1, 'the first line')
    first.cut()
    await until(() => watch.lines().length === 2, 'the line about its end')
    const second = await connect()
    await until(() => watch.lines().length === 3, 'the line about its return')
    watch.child.kill('SIGINT')
    expect(await exitOf(watch.child)).to.equal(0)
    await second.bye()
    const [, away, back] = watch.lines()
    expect(away).to.match(/cannot be read \(.*the application is not connected.*\); trying again$/)
    expect(back).to.contain('could not be read').and.contain('watching again at')
  })
})
