import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdtemp, readdir, rm, utimes } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { ask, RawSession } from '../helpers/mcp.ts'
import { type ServeProcess, startServeProcess } from '../helpers/serve-process.ts'
import { BlobRead, uploadGenerated } from './artefact-bytes.ts'
import { exchange, RawSocket, requestText } from './raw-socket.ts'
import { expectCleanExit } from './clean-exit.ts'
import { until } from '../helpers/until.ts'

describe('stopping the real program', () => {
  let serve: ServeProcess
  let registryDir: string

  beforeEach(async () => {
    registryDir = await mkdtemp(join(tmpdir(), 'stop-'))
    // So long that no test passes because of the cut at its end.
    serve = await startServeProcess({ registryDir, flags: ['--limit=stopGraceMs=60000'] })
  })

  afterEach(async () => {
    serve.signal('SIGKILL')
    await serve.exited
    await rm(registryDir, { recursive: true, force: true })
  })

  const expectClean = () => expectCleanExit(serve, registryDir)

  for (const name of ['SIGTERM', 'SIGINT'] as const) {
    it(`with ${name} ends every stream properly, and cleans up`, async () => {
      const streams = []
      for (let number = 0; number < 20; number++) {
        const session = await RawSession.open(serve.url)
        await session.call('resources/subscribe', { uri: 'scene://current' })
        streams.push(await session.listen())
      }
      const raw = await openStream(serve)
      expect(await readdir(join(registryDir, 'instances'))).to.have.lengthOf(2)
      serve.signal(name)
      for (const stream of streams) await stream.untilEnded()
      await raw.untilClosed()
      expect(raw.wasReset, 'an end, not a connection cut off').to.equal(false)
      await expectClean()
    })
  }

  it('does not wait for idle connections', async () => {
    const idle = []
    for (let number = 0; number < 20; number++) {
      const raw = await RawSocket.open(serve.port)
      raw.write(requestText(['GET /healthz HTTP/1.1', 'Host: localhost']))
      await raw.answers(1)
      idle.push(raw)
    }
    const silent = await RawSocket.open(serve.port)
    serve.signal('SIGTERM')
    for (const raw of idle) await raw.untilClosed()
    await silent.untilClosed()
    await expectClean()
  })

  it('lets a running read of 16 MiB finish', async () => {
    const hex = await uploadGenerated(serve, 16 * 1024 * 1024)
    const session = await RawSession.open(serve.url)
    const read = new BlobRead(serve, session.id, `artefact://sha256/${hex}`)
    await until(() => read.bytes > 0, 'the first bytes')
    serve.signal('SIGTERM')
    expect(await read.answer()).to.include({ sha256: hex, whole: true })
    await expectClean()
  })

  it('cuts readers that stopped reading, and uploads that stopped coming', async () => {
    serve.signal('SIGTERM')
    await serve.exited
    serve = await startServeProcess({ registryDir, flags: ['--limit=stopGraceMs=500'] })
    const hex = await uploadGenerated(serve, 16 * 1024 * 1024)
    const session = await RawSession.open(serve.url)
    const read = new BlobRead(serve, session.id, `artefact://sha256/${hex}`)
    await until(() => read.bytes > 0, 'the first bytes')
    read.pause()
    const upload = await RawSocket.open(serve.port)
    const lines = ['POST /host/v1/artefacts HTTP/1.1', 'Host: localhost', 'Content-Length: 99999']
    upload.write(requestText([...lines, `Authorization: Bearer ${serve.token}`], 'begun'))
    await until(
      () => serve.openFiles().some(path => path.includes('temp') || path.includes('tmp/')),
      'the upload has begun',
    )
    serve.signal('SIGTERM')
    await expectClean()
    read.disconnect()
  })

  it('refuses connections from the signal on', async () => {
    const hex = await uploadGenerated(serve, 16 * 1024 * 1024)
    const session = await RawSession.open(serve.url)
    const read = new BlobRead(serve, session.id, `artefact://sha256/${hex}`)
    await until(() => read.bytes > 0, 'the first bytes')
    read.pause()
    serve.signal('SIGTERM')
    const refused = () =>
      exchange(serve.port, requestText(['GET /healthz HTTP/1.1', 'Host: localhost'])).then(
        () => false,
        (error: NodeJS.ErrnoException) => error.code === 'ECONNREFUSED',
      )
    await until(refused, 'new connections are refused')
    read.resume()
    expect(await read.answer()).to.include({ whole: true })
    expect((await serve.exited).code).to.equal(0)
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

    const next = await startServeProcess({ registryDir })
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
