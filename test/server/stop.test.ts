import { expect } from 'chai'
import { randomBytes } from 'node:crypto'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { silentLogger } from '../../src/lib/util/logger.ts'
import { startServe } from '../../src/server/serve.ts'
import { newFolder } from '../helpers/cleanup.ts'
import { serveInProcess } from '../helpers/in-process-servers.ts'
import { frameOf, LinkClient, opcodes } from '../helpers/link.ts'
import { RawSession } from '../helpers/mcp.ts'
import { openFilesOf, type RunningServe } from '../helpers/serve-process.ts'
import { until } from '../helpers/until.ts'
import { BlobRead, uploadGenerated } from '../nightly/artefact-bytes.ts'
import { exchange, RawSocket, requestText } from '../process/raw-socket.ts'

const MiB = 1024 * 1024
const healthz = requestText(['GET /healthz HTTP/1.1', 'Host: localhost'])

describe('stopping a server', () => {
  let serve: RunningServe
  let registryDir: string

  beforeEach(() => (registryDir = newFolder()))

  /** By default so long that no test passes because of the cut at its end. */
  async function start(graceMs = 60_000): Promise<void> {
    serve = await serveInProcess({ registryDir, flags: [`--bound=stopGraceMs=${graceMs}`] })
  }

  async function expectCleanStop(stopped: Promise<unknown>): Promise<void> {
    await stopped
    expect(await readdir(join(registryDir, 'instances'))).to.deep.equal([])
    expect(serve.output().stderr).not.to.match(/"level":"error"|\n\s+at /)
  }

  /** A read of 16 MiB whose first bytes have come. */
  async function beginRead(): Promise<{ read: BlobRead; hex: string }> {
    const hex = await uploadGenerated(serve, 16 * MiB)
    const session = await RawSession.open(serve.url)
    const read = new BlobRead(serve, session.id, `artefact://sha256/${hex}`)
    await until(() => read.bytes > 0, 'the first bytes')
    read.pause()
    return { read, hex }
  }

  it('does not wait for idle connections', async () => {
    await start()
    const idle = [await RawSocket.open(serve.port)]
    for (let number = 0; number < 5; number++) {
      const raw = await RawSocket.open(serve.port)
      raw.write(healthz)
      await raw.answers(1)
      idle.push(raw)
    }
    const stopped = serve.stop()
    for (const raw of idle) await raw.untilClosed()
    await expectCleanStop(stopped)
  })

  it('ends every stream properly', async () => {
    await start()
    const streams = []
    for (let number = 0; number < 5; number++) {
      const session = await RawSession.open(serve.url)
      await session.call('resources/subscribe', { uri: 'scene://current' })
      streams.push(await session.listen())
    }
    const session = await RawSession.open(serve.url)
    const raw = await RawSocket.open(serve.port)
    const lines = ['GET /mcp HTTP/1.1', 'Host: localhost', `Mcp-Session-Id: ${session.id}`]
    raw.write(requestText(lines))
    await until(() => raw.received.includes('\r\n\r\n'), 'the stream is open')
    const stopped = serve.stop()
    for (const stream of streams) await stream.untilEnded()
    await raw.untilClosed()
    expect(raw.wasReset, 'an end, not a connection cut off').to.equal(false)
    await expectCleanStop(stopped)
  })

  it('lets a running read finish, and answers no new connection meanwhile', async () => {
    await start()
    const { read, hex } = await beginRead()
    const stopped = serve.stop()
    const refused = () =>
      exchange(serve.port, healthz).then(
        answer => answer === undefined,
        () => true,
      )
    await until(refused, 'new connections are refused')
    read.resume()
    expect(await read.answer()).to.include({ sha256: hex, whole: true })
    await expectCleanStop(stopped)
  })

  it('closes every link with 1001', async () => {
    await start()
    const app = await LinkClient.connect(serve)
    const silent = await LinkClient.open(serve)
    const stopped = serve.stop()
    expect(await app.closed).to.deep.equal({ code: 1001, reason: 'the server stops' })
    expect(await silent.closed).to.include({ code: 1001 })
    await expectCleanStop(stopped)
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
    await expectCleanStop(stopped)
  })

  it('cuts who stopped reading, and uploads that stopped coming', async () => {
    await start(500)
    const { read } = await beginRead()
    const silent = await LinkClient.connect(serve, { instance_id: 'silent' })
    silent.ws.pause()
    const upload = await RawSocket.open(serve.port)
    const lines = ['POST /host/v1/artefacts HTTP/1.1', 'Host: localhost', 'Content-Length: 99999']
    upload.write(requestText([...lines, `Authorization: Bearer ${serve.token}`], 'begun'))
    const link = await LinkClient.connect(serve, { instance_id: 'silent' })
    link.say({ type: 'artefact.put', id: 'a', mime: 'image/png', size: MiB })
    link.socket.write(frameOf(randomBytes(65_536), opcodes.binary))
    const unfinished = join(registryDir, 'dcc-mcp-artefacts', 'tmp')
    const begun = () => openFilesOf(process.pid).filter(path => path.startsWith(unfinished))
    await until(() => begun().length === 2, 'the uploads have begun')
    await expectCleanStop(serve.stop())
    await until(async () => (await readdir(unfinished)).length === 0, 'no file is left')
    read.disconnect()
    silent.reset()
    link.reset()
  })

  it('leaves nothing behind when the start is cancelled', async () => {
    const folder = newFolder()
    const where = { port: 0, host: '127.0.0.1', allowedHosts: [], allowedOrigins: [] }
    const what = { dccType: 'unknown', registryDir: folder, artefacts: true, resources: true }
    const cancel = new AbortController()
    const options = { ...where, ...what, accessLog: () => {}, log: silentLogger }
    const starting = startServe(options, cancel.signal).catch((error: unknown) => error)
    const reason = new Error('cancelled')
    cancel.abort(reason)
    expect(await starting).to.equal(reason)
    expect(await readdir(join(folder, 'instances'))).to.deep.equal([])
    await rm(folder, { recursive: true, force: true })
  })
})
