import { createHash, randomBytes } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { serveInProcess } from '../../../helpers/in-process-servers.ts'
import { frameOf, LinkClient, opcodes } from '../../../helpers/link.ts'
import { RawSession } from '../../../helpers/mcp.ts'
import type { RunningServe } from '../../../helpers/serve-process.ts'
import { until } from '../../../helpers/until.ts'
import { expectHealthy } from '../link-health.ts'

const KiB = 1024
const pieceBytes = 256 * KiB
const sha256Of = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

describe('artefacts over the host link', () => {
  let serve: RunningServe
  let session: RawSession
  let app: LinkClient

  before(async () => {
    serve = await serveInProcess({ flags: ['--limit=maxArtefactBytes=33554432'] })
    session = await RawSession.open(serve.url)
  })

  afterEach(() => expectHealthy(serve))

  after(async () => {
    await serve.stop()
    expect(serve.output().stderr).not.to.match(/"level":"error"|\n\s+at /)
  })

  /** Files of unfinished uploads. */
  async function unfinished(): Promise<string[]> {
    const root = join(serve.registryDir, 'dcc-mcp-artefacts')
    const files = await readdir(root, { recursive: true, withFileTypes: true }).catch(() => [])
    return files
      .filter(file => file.isFile())
      .map(({ parentPath, name }) => join(parentPath, name).slice(root.length))
      .filter(path => /te?mp/.test(path))
  }

  async function put(bytes: Buffer, members: object = {}): Promise<any> {
    const size = bytes.length
    const reply = app.ask({ type: 'artefact.put', mime: 'image/png', size, ...members })
    for (let at = 0; at < size; at += pieceBytes) app.ws.send(bytes.subarray(at, at + pieceBytes))
    return reply
  }

  it('of 20 MB are what is downloaded and read', async () => {
    app = await LinkClient.connect(serve)
    const bytes = randomBytes(20_000_000)
    const sha256 = sha256Of(bytes)
    const members = { display_name: 'still.png', job_id: 'j1', metadata: { frame: 24 } }
    const reply = await put(bytes, members)
    expect(reply).to.include({ type: 'ok', sha256, existed: false })
    expect(reply.uri).to.equal(`artefact://sha256/${sha256}`)
    const response = await fetch(`${serve.base}/artefacts/sha256/${sha256}`)
    expect(response.headers.get('content-type')).to.equal('image/png')
    expect(Buffer.from(await response.arrayBuffer()).equals(bytes)).to.equal(true)
    const { result } = await session.call('resources/read', { uri: reply.uri })
    expect(sha256Of(Buffer.from(result.contents[0].blob, 'base64'))).to.equal(sha256)
    expect(await put(bytes)).to.include({ type: 'ok', existed: true })
    await app.bye()
  })

  it('that are wrong or given up leave nothing, and the next one is taken', async () => {
    app = await LinkClient.connect(serve)
    const bytes = randomBytes(600 * KiB)
    const tooMuch = await put(bytes, { metadata: 'x'.repeat(70_000) })
    expect(tooMuch).to.include({ type: 'error', code: 'invalid' })
    expect(tooMuch.message).to.match(
      /^\/metadata must be at most \d+ bytes of JSON, 64 levels deep$/,
    )
    const size = 32 * KiB * KiB + 1
    const tooLarge = await app.ask({ type: 'artefact.put', mime: 'image/png', size })
    expect(tooLarge).to.include({ type: 'error', code: 'limit' })
    for (let sent = 0; sent < size; sent += pieceBytes) {
      app.ws.send(Buffer.alloc(Math.min(pieceBytes, size - sent)))
    }
    const interrupted = app.ask({ type: 'artefact.put', mime: 'image/png', size: bytes.length })
    app.ws.send(bytes.subarray(0, pieceBytes))
    const next = randomBytes(300 * KiB)
    expect(await put(next)).to.include({ type: 'ok', sha256: sha256Of(next) })
    expect(await interrupted).to.include({ type: 'error', code: 'mismatch' })
    await until(async () => (await unfinished()).length === 0, 'no file is left')
    const url = `${serve.base}/artefacts/sha256/${sha256Of(bytes)}`
    expect((await fetch(url)).status).to.equal(404)
    await app.bye()
  })

  it('that are cut in the middle leave nothing', async () => {
    const link = await LinkClient.connect(serve)
    link.say({ type: 'artefact.put', id: 'a', mime: 'image/png', size: 1024 * KiB })
    const piece = frameOf(randomBytes(pieceBytes), opcodes.binary)
    link.socket.write(Buffer.concat([piece, piece.subarray(0, 1000)]))
    await until(async () => (await unfinished()).length === 1, 'the upload has begun')
    link.reset()
    await until(async () => (await unfinished()).length === 0, 'the upload is undone')
  })
})
