import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdtemp, readdir, rm, utimes } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { ask, RawSession } from '../helpers/mcp.ts'
import { serveInProcess } from '../helpers/in-process-servers.ts'
import {
  openFilesOf,
  type RunningServe,
  type ServeProcess,
  startServeProcess,
} from '../helpers/serve-process.ts'
import { BlobRead, uploadGenerated } from '../nightly/artefact-bytes.ts'
import { exchange, RawSocket, requestText } from './raw-socket.ts'
import { expectCleanExit, expectCleanStop } from './clean-exit.ts'
import { until } from '../helpers/until.ts'

/** So long that no test passes because of the cut at its end. */
const flags = ['--limit=stopGraceMs=60000']

describe('stopping a server', () => {
  let serve: RunningServe
  let registryDir: string

  beforeEach(async () => {
    registryDir = await mkdtemp(join(tmpdir(), 'stop-'))
    serve = await serveInProcess({ registryDir, flags })
  })

  afterEach(async () => {
    await serve.stop()
    await rm(registryDir, { recursive: true, force: true })
  })

  it('does not wait for idle connections', async () => {
    const idle = []
    for (let number = 0; number < 20; number++) {
      const raw = await RawSocket.open(serve.port)
      raw.write(requestText(['GET /healthz HTTP/1.1', 'Host: localhost']))
      await raw.answers(1)
      idle.push(raw)
    }
    const silent = await RawSocket.open(serve.port)
    const stopped = serve.stop()
    for (const raw of idle) await raw.untilClosed()
    await silent.untilClosed()
    await expectCleanStop(stopped, serve)
  })

  it('lets a running read of 16 MiB finish', async () => {
    const hex = await uploadGenerated(serve, 16 * 1024 * 1024)
    const session = await RawSession.open(serve.url)
    const read = new BlobRead(serve, session.id, `artefact://sha256/${hex}`)
    await until(() => read.bytes > 0, 'the first bytes')
    const stopped = serve.stop()
    expect(await read.answer()).to.include({ sha256: hex, whole: true })
    await expectCleanStop(stopped, serve)
  })

  it('cuts readers that stopped reading, and uploads that stopped coming', async () => {
    await serve.stop()
    serve = await serveInProcess({ registryDir, flags: ['--limit=stopGraceMs=500'] })
    const hex = await uploadGenerated(serve, 16 * 1024 * 1024)
    const session = await RawSession.open(serve.url)
    const read = new BlobRead(serve, session.id, `artefact://sha256/${hex}`)
    await until(() => read.bytes > 0, 'the first bytes')
    read.pause()
    const upload = await RawSocket.open(serve.port)
    const lines = ['POST /host/v1/artefacts HTTP/1.1', 'Host: localhost', 'Content-Length: 99999']
    upload.write(requestText([...lines, `Authorization: Bearer ${serve.token}`], 'begun'))
    const unfinished = join(registryDir, 'dcc-mcp-artefacts', 'tmp')
    const begun = () => openFilesOf(process.pid).some(path => path.startsWith(unfinished))
    await until(begun, 'the upload has begun')
    const stopped = serve.stop()
    await expectCleanStop(stopped, serve)
    read.disconnect()
  })

  it('refuses connections from the signal on', async () => {
    const hex = await uploadGenerated(serve, 16 * 1024 * 1024)
    const session = await RawSession.open(serve.url)
    const read = new BlobRead(serve, session.id, `artefact://sha256/${hex}`)
    await until(() => read.bytes > 0, 'the first bytes')
    read.pause()
    const stopped = serve.stop()
    const refused = () =>
      exchange(serve.port, requestText(['GET /healthz HTTP/1.1', 'Host: localhost'])).then(
        () => false,
        (error: NodeJS.ErrnoException) => error.code === 'ECONNREFUSED',
      )
    await until(refused, 'new connections are refused')
    read.resume()
    expect(await read.answer()).to.include({ whole: true })
    await expectCleanStop(stopped, serve)
  })
})

describe('stopping the real program', () => {
  let serve: ServeProcess
  let registryDir: string

  beforeEach(async () => {
    registryDir = await mkdtemp(join(tmpdir(), 'stop-'))
    serve = await startServeProcess({ registryDir, flags })
  })

  afterEach(async () => {
    serve.signal('SIGKILL')
    await serve.exited
    await rm(registryDir, { recursive: true, force: true })
  })

  it('ends every stream properly, and cleans up', async () => {
    const streams = []
    for (let number = 0; number < 20; number++) {
      const session = await RawSession.open(serve.url)
      await session.call('resources/subscribe', { uri: 'scene://current' })
      streams.push(await session.listen())
    }
    const raw = await openStream(serve)
    expect(await readdir(join(registryDir, 'instances'))).to.have.lengthOf(2)
    serve.signal('SIGTERM')
    for (const stream of streams) await stream.untilEnded()
    await raw.untilClosed()
    expect(raw.wasReset, 'an end, not a connection cut off').to.equal(false)
    await expectCleanExit(serve, registryDir)
  })

  it('by kill -9 leaves what a later start removes, and loses no artefact', async () => {
    const bytes = randomBytes(100_000)
    const hex = await serve.store(bytes)
    await serve.post('scene', { a: 1 })
    serve.signal('SIGKILL')
    expect((await serve.exited).signal).to.equal('SIGKILL')
    const files = [`${serve.instanceId}.json`, `${serve.instanceId}.token`]
    const folder = join(registryDir, 'instances')
    // The signal may meet a record that is being written.
    const left = await readdir(folder)
    expect(left).to.include.members(files)
    for (const file of left) await utimes(join(folder, file), 1000, 1000)

    const next = await serveInProcess({ registryDir })
    try {
      for (const file of left) expect(existsSync(join(folder, file)), file).to.equal(false)
      expect(await readdir(folder)).to.have.lengthOf(2)
      const answer = await ask(`${next.base}/artefacts/sha256/${hex}`)
      expect(answer.status).to.equal(200)
      expect(next.token).not.to.equal(serve.token)
      const session = await RawSession.open(next.url)
      expect(await session.readJson('scene://current')).to.include({ status: 'no_snapshot' })
    } finally {
      await next.stop()
    }
    expect(await readdir(folder)).to.deep.equal([])
  })
})

async function openStream(serve: ServeProcess): Promise<RawSocket> {
  const session = await RawSession.open(serve.url)
  const raw = await RawSocket.open(serve.port)
  const lines = ['GET /mcp HTTP/1.1', 'Host: localhost', `Mcp-Session-Id: ${session.id}`]
  raw.write(requestText(lines))
  await until(() => raw.received.includes('\r\n\r\n'), 'the stream is open')
  return raw
}
