import { randomBytes } from 'node:crypto'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { frameOf, opcodes, LinkClient } from '../../../helpers/link.ts'
import { serveInProcess } from '../../../helpers/in-process-servers.ts'
import { openFilesOf, type RunningServe } from '../../../helpers/serve-process.ts'
import { expectCleanStop } from '../../../process/clean-exit.ts'
import { RawSession } from '../../../helpers/mcp.ts'
import { until } from '../../../helpers/until.ts'

const KiB = 1024
/** So long that no test passes because of the cut at its end. */
const longMs = 60_000

describe('stopping a server with an application connected', () => {
  let serve: RunningServe
  let registryDir: string

  beforeEach(async () => {
    registryDir = await mkdtemp(join(tmpdir(), 'link-stop-'))
  })

  afterEach(async () => {
    await serve.stop()
    await rm(registryDir, { recursive: true, force: true })
  })

  async function start(graceMs = longMs): Promise<void> {
    serve = await serveInProcess({ registryDir, flags: [`--bound=stopGraceMs=${graceMs}`] })
  }

  const uploads = () =>
    openFilesOf(process.pid).filter(path => path.startsWith(join(registryDir, 'dcc-mcp-artefacts')))

  it('closes every link with 1001', async () => {
    await start()
    const app = await LinkClient.connect(serve)
    const silent = await LinkClient.open(serve)
    const stopped = serve.stop()
    expect(await app.closed).to.deep.equal({ code: 1001, reason: 'the server stops' })
    expect(await silent.closed).to.include({ code: 1001 })
    await expectCleanStop(stopped, serve)
  })

  it('answers calls that wait for an object, and reads that wait for the application', async () => {
    await start()
    const app = await LinkClient.connect(serve)
    app.answer = ({ type, uri }) =>
      type === 'read' && uri === 'app://a' ? { contents: [{ uri, text: '{}' }] } : undefined
    await app.done({ type: 'producer.register', scheme: 'app' })
    const session = await RawSession.open(serve.url)
    const wait = { name: 'wait_for_change', arguments: { uris: ['app://a'] } }
    const waiting = session.call('tools/call', wait)
    const reading = session.call('resources/read', { uri: 'app://b' })
    // The call waits before it looks at the object.
    await app.until(() => app.ofType('read').length === 2, 'both questions')
    const stopped = serve.stop()
    const { content } = (await waiting).result
    expect(content[0].text).to.match(/^no change: the server is stopping\n/)
    expect((await reading).error.data.reason).to.equal('host_disconnected')
    await expectCleanStop(stopped, serve)
  })

  it('gives up an artefact that comes faster than the disk takes it', async () => {
    await start()
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

  const hanging: [what: string, hang: () => Promise<LinkClient>][] = [
    [
      'reads nothing any more',
      async () => {
        const link = await LinkClient.connect(serve)
        link.socket.pause()
        return link
      },
    ],
    [
      'stands in the middle of an artefact and is silent',
      async () => {
        const link = await LinkClient.connect(serve)
        link.say({ type: 'artefact.put', id: 'a', mime: 'image/png', size: 1024 * KiB })
        link.socket.write(frameOf(randomBytes(64 * KiB), { opcode: opcodes.binary }))
        await until(() => uploads().length > 0, 'the upload has begun')
        return link
      },
    ],
  ]
  for (const [what, hang] of hanging) {
    it(`ends within its grace time with a peer that ${what}`, async () => {
      await start(500)
      const link = await hang()
      await expectCleanStop(serve.stop(), serve)
      link.reset()
      await expectNoArtefact()
    })
  }

  async function expectNoArtefact(): Promise<void> {
    const root = join(registryDir, 'dcc-mcp-artefacts')
    const found = await readdir(root, { recursive: true, withFileTypes: true }).catch(() => [])
    const files = found.filter(entry => entry.isFile()).map(({ name }) => name)
    expect(files.filter(name => /^[0-9a-f]{64}|te?mp/.test(name))).to.deep.equal([])
  }
})
