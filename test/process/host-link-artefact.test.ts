import { createHash, randomBytes } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { LinkClient } from '../helpers/link.ts'
import { RawSession } from '../helpers/mcp.ts'
import { type ServeProcess, startServeProcess } from '../helpers/serve-process.ts'
import { expectHealthy } from './host-link-health.ts'
import { until } from '../helpers/until.ts'

const KiB = 1024
const pieceBytes = 256 * KiB
const sha256Of = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

describe('artefacts over the host link of the real program', () => {
  let serve: ServeProcess
  let session: RawSession
  let app: LinkClient

  before(async () => {
    serve = await startServeProcess({ flags: ['--limit=maxArtefactBytes=33554432'] })
    session = await RawSession.open(serve.url)
  })

  beforeEach(async () => {
    app = await LinkClient.connect(serve)
  })

  afterEach(async () => {
    if (app.ws.readyState === app.ws.OPEN) await app.bye()
    await until(() => openBodies().length === 0, 'no body is open')
    await expectHealthy(serve)
  })

  after(async () => {
    const { code, stderr } = await serve.stop()
    expect(code).to.equal(0)
    expect(stderr).not.to.match(/"level":"error"|\n\s+at /)
  })

  const openBodies = () => serve.openFiles().filter(path => path.includes('dcc-mcp-artefacts'))

  async function put(bytes: Buffer, members: object = {}): Promise<any> {
    const reply = app.ask({
      type: 'artefact.put',
      mime: 'image/png',
      size: bytes.length,
      ...members,
    })
    for (let at = 0; at < bytes.length; at += pieceBytes) {
      app.ws.send(bytes.subarray(at, at + pieceBytes))
    }
    return reply
  }

  /** Files of the store whose bytes are these, and the unfinished ones. */
  async function expectNothingOf(bytes: Buffer): Promise<void> {
    const root = join(serve.registryDir, 'dcc-mcp-artefacts')
    const sha256 = sha256Of(bytes)
    const wrong = /te?mp/
    await until(async () => {
      const files = await readdir(root, { recursive: true, withFileTypes: true })
      const names = files
        .filter(entry => entry.isFile())
        .map(({ parentPath, name }) => join(parentPath, name).slice(root.length))
      return !names.some(name => name.includes(sha256) || wrong.test(name))
    }, 'nothing of it is left')
    expect((await fetch(`${serve.base}/artefacts/sha256/${sha256}`)).status).to.equal(404)
  }

  it('are refused with too much metadata, and the next one is taken', async () => {
    const bytes = randomBytes(600 * KiB)
    const refused = await put(bytes, { metadata: 'x'.repeat(70_000) })
    expect(refused).to.include({ type: 'error', code: 'invalid' })
    expect(refused.message).to.match(/^\/metadata must be at most \d+ bytes of JSON$/)
    await expectNothingOf(bytes)
    expect(await put(bytes, { metadata: 'x' })).to.include({ type: 'ok' })
  })

  it('of 20 MB in 256 KiB frames are what is downloaded', async () => {
    const bytes = randomBytes(20_000_000)
    const sha256 = sha256Of(bytes)
    const members = { sha256, display_name: 'still.png', job_id: 'j1', metadata: { frame: 24 } }
    const answering = put(bytes, members)
    // What else there is to say comes in between.
    const told = app.done({ type: 'scene.set', scene: { meanwhile: true } })
    const reply = await answering
    expect(reply).to.include({ type: 'ok', sha256, existed: false })
    expect(reply.uri).to.equal(`artefact://sha256/${sha256}`)
    await told
    const response = await fetch(`${serve.base}/artefacts/sha256/${sha256}`)
    expect(response.headers.get('content-type')).to.equal('image/png')
    expect(Buffer.from(await response.arrayBuffer()).equals(bytes)).to.equal(true)
    const { result } = await session.call('resources/read', { uri: reply.uri })
    expect(sha256Of(Buffer.from(result.contents[0].blob, 'base64'))).to.equal(sha256)
    expect(await put(bytes, { sha256 })).to.include({ type: 'ok', existed: true })
  })

  it('of no byte, and in frames of one, are stored', async () => {
    expect(await put(Buffer.alloc(0))).to.include({ type: 'ok', sha256: sha256Of(Buffer.alloc(0)) })
    const bytes = randomBytes(1000)
    const reply = app.ask({ type: 'artefact.put', mime: 'image/png', size: bytes.length })
    for (const byte of bytes) app.ws.send(Buffer.from([byte]))
    expect(await reply).to.include({ type: 'ok', sha256: sha256Of(bytes) })
  })

  it('with another hash than announced are not kept', async () => {
    const bytes = randomBytes(600 * KiB)
    const reply = await put(bytes, { sha256: 'a'.repeat(64) })
    expect(reply).to.include({ type: 'error', code: 'mismatch', retryable: false })
    await expectNothingOf(bytes)
    expect(await put(bytes)).to.include({ type: 'ok' })
  })

  it('given up in the middle are not kept, the link goes on', async () => {
    const bytes = randomBytes(600 * KiB)
    const id = 'upload'
    app.say({ type: 'artefact.put', id, mime: 'image/png', size: bytes.length })
    app.ws.send(bytes.subarray(0, pieceBytes))
    await until(() => openBodies().length > 0, 'the upload has begun')
    await app.done({ type: 'artefact.abort', upload: id })
    await app.until(() => app.ofType('error').some(error => error.id === id), 'its error')
    expect(app.ofType('error')).to.have.lengthOf(1)
    expect(app.ofType('error')[0]).to.include({ code: 'mismatch' })
    await expectNothingOf(bytes)
    const unknown = await app.ask({ type: 'artefact.abort', upload: id })
    expect(unknown).to.include({ type: 'error', code: 'not_found' })
    expect(await put(bytes)).to.include({ type: 'ok' })
  })

  it('that another one interrupts are not kept', async () => {
    const bytes = randomBytes(600 * KiB)
    const interrupted = app.ask({ type: 'artefact.put', mime: 'image/png', size: bytes.length })
    app.ws.send(bytes.subarray(0, pieceBytes))
    const second = randomBytes(300 * KiB)
    expect(await put(second)).to.include({ type: 'ok', sha256: sha256Of(second) })
    expect(await interrupted).to.include({ type: 'error', code: 'mismatch' })
    await expectNothingOf(bytes)
  })

  it('with more bytes than announced close the link with 4400', async () => {
    const bytes = randomBytes(1000)
    const reply = app.ask({ type: 'artefact.put', mime: 'image/png', size: 999 }).catch(String)
    app.ws.send(bytes)
    expect(await app.closed).to.include({ code: 4400 })
    expect(await reply).to.not.include({ type: 'ok' })
    await expectNothingOf(bytes)
  })

  it('over the bound are refused at once, their bytes passed over', async () => {
    const size = 32 * KiB * KiB + 1
    const refused = app.ask({ type: 'artefact.put', mime: 'image/png', size })
    expect(await refused).to.include({ type: 'error', code: 'limit', retryable: true })
    serve.resetPeak()
    const before = serve.rss().now
    const piece = randomBytes(pieceBytes)
    for (let sent = 0; sent + piece.length <= size; sent += piece.length) app.ws.send(piece)
    app.ws.send(piece.subarray(0, 1))
    await app.done({ type: 'scene.set', scene: { after: true } })
    expect(serve.rss().peak - before).to.be.below(96 * KiB * KiB)
    expect(await put(piece)).to.include({ type: 'ok' })
  })
})
