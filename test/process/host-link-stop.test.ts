import { randomBytes } from 'node:crypto'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { LinkClient } from '../helpers/link.ts'
import { frameOf, opcodes, RawLink } from '../helpers/raw-link.ts'
import { serveInProcess } from '../helpers/in-process-servers.ts'
import { openFilesOf, type RunningServe, startServeProcess } from '../helpers/serve-process.ts'
import { expectCleanExit, expectCleanStop } from './clean-exit.ts'
import { expectHealthy } from './host-link-health.ts'
import { RawSession } from '../helpers/mcp.ts'
import { until } from '../helpers/until.ts'

const KiB = 1024
/** So long that no test passes because of the cut at its end. */
const longMs = 60_000

describe('stopping a server with an application connected', () => {
  let serve: RunningServe
  let registryDir: string

  beforeEach(async () => {
    registryDir = await mkdtemp(join(tmpdir(), 'link-stop-'))
  })

  const settings = (graceMs: number) => ({ registryDir, flags: [`--limit=stopGraceMs=${graceMs}`] })
  const start = (graceMs: number) => serveInProcess(settings(graceMs))

  afterEach(async () => {
    await serve.stop()
    await rm(registryDir, { recursive: true, force: true })
  })

  const uploads = (pid = process.pid) =>
    openFilesOf(pid).filter(path => path.startsWith(join(registryDir, 'dcc-mcp-artefacts')))

  it('leaves all to the next start, which works', async () => {
    const program = await startServeProcess(settings(longMs))
    serve = program
    const app = await LinkClient.connect(serve)
    app.say({ type: 'artefact.put', id: 'a', mime: 'image/png', size: 1024 * KiB })
    app.ws.send(randomBytes(64 * KiB))
    await until(() => uploads(program.pid).length > 0, 'the upload has begun')
    program.signal('SIGTERM')
    await expectCleanExit(program, registryDir)
    serve = await start(longMs)
    await expectHealthy(serve)
  })

  it('says so, and closes with 1001', async () => {
    serve = await start(longMs)
    const app = await LinkClient.connect(serve)
    const silent = await LinkClient.open(serve)
    const stopped = serve.stop()
    expect(await app.closed).to.include({ code: 1001 })
    expect(app.ofType('shutdown')).to.deep.equal([
      { type: 'shutdown', reason: 'the server stops', reconnect_after_ms: 1000 },
    ])
    expect(await silent.closed).to.include({ code: 1001 })
    await expectCleanStop(stopped, serve)
  })

  it('tells calls that wait for an object that it stops, not that the object is gone', async () => {
    serve = await start(longMs)
    const app = await LinkClient.connect(serve)
    app.answer = ({ type, uri }) =>
      type === 'read' ? { contents: [{ uri, text: '{}' }] } : undefined
    await app.done({ type: 'producer.register', scheme: 'app' })
    const session = await RawSession.open(serve.url)
    const wait = { name: 'wait_for_change', arguments: { uris: ['app://a'] } }
    const answer = session.call('tools/call', wait)
    // It waits before it looks at the object.
    await app.until(() => app.ofType('read').length > 0, 'the look at the object')
    const stopped = serve.stop()
    const { content } = (await answer).result
    expect(content[0].text).to.match(/^no change: the server is stopping\n/)
    await expectCleanStop(stopped, serve)
  })

  it('answers the reads that wait for the application', async () => {
    serve = await start(longMs)
    const app = await LinkClient.connect(serve)
    await app.done({ type: 'producer.register', scheme: 'app' })
    const session = await RawSession.open(serve.url)
    const answer = session.call('resources/read', { uri: 'app://a' })
    await app.until(() => app.ofType('read').length > 0, 'the question')
    const stopped = serve.stop()
    const { error } = await answer
    expect(error.data.reason).to.equal('host_disconnected')
    await expectCleanStop(stopped, serve)
  })

  it('gives an artefact up whose bytes are still coming', async () => {
    serve = await start(longMs)
    const app = await LinkClient.connect(serve)
    const size = 1024 * KiB
    const put = app.ask({ type: 'artefact.put', mime: 'image/png', size }).catch(String)
    app.ws.send(randomBytes(256 * KiB))
    await until(() => uploads().length > 0, 'the upload has begun')
    const stopped = serve.stop()
    expect(await app.closed).to.include({ code: 1001 })
    expect(await put).to.not.include({ type: 'ok' })
    await expectCleanStop(stopped, serve)
    await expectNoArtefact()
  })

  it('does the same when the application sends faster than the disk takes it', async () => {
    serve = await start(longMs)
    const app = await LinkClient.connect(serve)
    const size = 64 * 1024 * KiB
    const piece = randomBytes(256 * KiB)
    app.say({ type: 'artefact.put', id: 'large', mime: 'image/png', size })
    for (let sent = 0; sent < size - piece.length; sent += piece.length) app.ws.send(piece)
    await until(() => uploads().length > 0, 'the upload has begun')
    const stopped = serve.stop()
    const { code } = await app.closed
    expect([1001, 1006]).to.include(code)
    await expectCleanStop(stopped, serve)
    await expectNoArtefact()
  })

  for (const [name, hang] of Object.entries({
    'never answers the close': async () => {
      const link = await RawLink.connect(serve)
      await link.until(() => link.messages.length > 0, 'welcome')
      return link
    },
    'reads nothing any more': async () => {
      const link = await RawLink.connect(serve)
      link.socket.pause()
      return link
    },
    'stands in the middle of an artefact and is silent': async () => {
      const link = await RawLink.connect(serve)
      link.text({ type: 'artefact.put', id: 'a', mime: 'image/png', size: 1024 * KiB })
      link.write(frameOf(randomBytes(64 * KiB), { opcode: opcodes.binary }))
      await until(() => uploads().length > 0, 'the upload has begun')
      return link
    },
    'stands in the middle of a frame': async () => {
      const link = await RawLink.connect(serve)
      link.write(frameOf('{"type":"bye"}').subarray(0, 5))
      return link
    },
  })) {
    it(`ends within its grace time with a peer that ${name}`, async () => {
      serve = await start(500)
      const link = await hang()
      const stopped = serve.stop()
      await expectCleanStop(stopped, serve)
      link.reset()
      await expectNoArtefact()
    })
  }

  async function expectNoArtefact(): Promise<void> {
    const root = join(registryDir, 'dcc-mcp-artefacts')
    const found = await readdir(root, { recursive: true, withFileTypes: true }).catch(() => [])
    const large = found.filter(entry => entry.isFile()).map(({ name }) => name)
    expect(large.filter(name => /^[0-9a-f]{64}|te?mp/.test(name))).to.deep.equal([])
  }
})
