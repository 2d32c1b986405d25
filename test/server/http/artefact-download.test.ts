import { expect } from 'chai'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import * as fs from 'node:fs'
import {
  createServer,
  type IncomingMessage,
  request,
  type RequestOptions,
  type Server,
} from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { ArtefactFolder } from '../../../src/server/artefacts/folder.ts'
import { ArtefactStore, type OpenArtefact } from '../../../src/server/artefacts/store.ts'
import { artefactDownload } from '../../../src/server/http/artefact-download.ts'
import { RequestContext } from '../../../src/server/http/request-context.ts'
import { makeProblem } from '../../../src/server/http/problem.ts'
import { recordingLog, settableClock } from '../../helpers/fakes.ts'
import { until } from '../../helpers/until.ts'
import { damage, sha256 } from '../../unit/artefacts/support.ts'
import { newFolder } from '../../helpers/cleanup.ts'
import { listening } from '../../helpers/listening.ts'

const root = newFolder()

/** A store that counts its open artefacts. */
class CountingStore extends ArtefactStore {
  opened = 0

  override async open(hex: string): Promise<OpenArtefact | null> {
    const artefact = await super.open(hex)
    if (artefact === null) return null
    this.opened++
    return {
      ...artefact,
      [Symbol.asyncDispose]: async () => {
        await artefact[Symbol.asyncDispose]()
        this.opened--
      },
    }
  }
}

const safetyHeaders = {
  'content-security-policy': "sandbox; default-src 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
}

describe('artefact download', () => {
  let store: CountingStore
  let log: ReturnType<typeof recordingLog>
  let server: Server
  let port: number
  /** Answers that the handler is done with. */
  let handled = 0

  before(async () => {
    store = new CountingStore(new ArtefactFolder(root), { clock: settableClock() })
    log = recordingLog()
    const download = artefactDownload(store, log)
    server = createServer(async (req, res) => {
      await download(req, res, new RequestContext('127.0.0.1', req.url))
      handled++
    })
    // Cuts readers that take nothing, as those of the program do.
    server.timeout = 1000
    port = await listening(server)
  })
  beforeEach(() => {
    log.lines.length = 0
    handled = 0
  })
  afterEach(() => until(() => store.opened === 0, 'every artefact is closed'))
  after(async () => {
    await store.close()
  })

  async function put(bytes: Uint8Array, options = {}): Promise<string> {
    await store.put(bytes, options)
    return sha256(bytes)
  }

  async function ask(hex: string, options: RequestOptions = {}) {
    const path = `/artefacts/sha256/${hex}`
    const req = request({ host: '127.0.0.1', port, path, agent: false, ...options }).end()
    const [res] = (await once(req, 'response')) as [IncomingMessage]
    const pieces: Buffer[] = []
    res.on('data', piece => pieces.push(piece))
    res.on('error', () => {})
    await new Promise(resolve => res.on('close', resolve))
    const { statusCode: status = 0, headers, complete: isComplete } = res
    return { status, headers, body: Buffer.concat(pieces), isComplete }
  }

  it('sends the bytes with headers that keep a browser from running them', async () => {
    const bytes = randomBytes(1_000_000)
    const hex = await put(bytes, { mime: 'text/html', display_name: 'page.html' })
    const { status, headers, body } = await ask(hex)
    expect(status).to.equal(200)
    expect(body.equals(bytes)).to.equal(true)
    expect(headers).to.include({
      'accept-ranges': 'bytes',
      'cache-control': 'private, no-cache',
      'content-disposition': 'attachment; filename=page.html',
      'content-length': '1000000',
      'content-type': 'text/html',
      etag: `"${hex}"`,
      'last-modified': 'Tue, 01 Jan 2030 00:00:00 GMT',
      ...safetyHeaders,
    })
    expect(headers).not.to.have.property('access-control-allow-origin')
    const headOnly = await ask(hex, { method: 'HEAD', headers: { Range: 'bytes=0-1' } })
    expect(headOnly.status).to.equal(200)
    expect(headOnly.headers).to.include({ 'content-length': '1000000', ...safetyHeaders })
    expect(headOnly.body).to.have.length(0)
    const empty = await ask(await put(new Uint8Array()))
    expect([empty.status, empty.headers['content-length']]).to.deep.equal([200, '0'])
  })

  it('returns 304 for a matching ETag', async () => {
    const hex = await put(randomBytes(100))
    for (const tag of ['*', `"${hex}"`, `W/"${hex}"`, `"x", "${hex}"`]) {
      const answer = await ask(hex, { headers: { 'If-None-Match': tag } })
      expect([tag, answer.status, answer.body.length]).to.deep.equal([tag, 304, 0])
      expect(answer.headers).to.include({ etag: `"${hex}"`, ...safetyHeaders })
    }
    const other = await ask(hex, { headers: { 'If-None-Match': '"x"' } })
    expect(other.status).to.equal(200)
    await store.remove(hex)
    const gone = await ask(hex, { headers: { 'If-None-Match': `"${hex}"` } })
    expect(gone.status).to.equal(404)
  })

  it('sends one range, and the whole body for unsupported ranges', async () => {
    const bytes = randomBytes(1000)
    const hex = await put(bytes)
    const etag = `"${hex}"`
    const cases: [Record<string, string>, number, string | undefined][] = [
      [{ Range: 'bytes=0-0' }, 206, 'bytes 0-0/1000'],
      [{ Range: 'bytes=990-' }, 206, 'bytes 990-999/1000'],
      [{ Range: 'bytes=-10' }, 206, 'bytes 990-999/1000'],
      [{ Range: 'bytes=500-9999' }, 206, 'bytes 500-999/1000'],
      [{ Range: 'bytes=10-19', 'If-Range': etag }, 206, 'bytes 10-19/1000'],
      [{ Range: 'bytes=10-19', 'If-Range': '"x"' }, 200, undefined],
      [{ Range: 'bytes=10-19', 'If-Range': `W/${etag}` }, 200, undefined],
      [{ Range: 'bytes=0-1,5-6' }, 200, undefined],
      [{ Range: 'bytes=20-10' }, 200, undefined],
      [{ Range: 'lines=1-2' }, 200, undefined],
      [{ Range: 'bytes=1000-' }, 416, 'bytes */1000'],
      [{ Range: 'bytes=-0' }, 416, 'bytes */1000'],
    ]
    for (const [headers, status, contentRange] of cases) {
      const answer = await ask(hex, { headers })
      const name = JSON.stringify(headers)
      expect([name, answer.status]).to.deep.equal([name, status])
      expect(answer.headers['content-range'], name).to.equal(contentRange)
      if (status === 200) expect(answer.body.equals(bytes), name).to.equal(true)
      if (status !== 206) continue
      const [, start, end] = /(\d+)-(\d+)/.exec(contentRange ?? '') ?? []
      const part = bytes.subarray(Number(start), Number(end) + 1)
      expect(answer.body.equals(part), name).to.equal(true)
      expect(answer.headers, name).to.include(safetyHeaders)
    }
    const answer = await ask(await put(new Uint8Array()), { headers: { Range: 'bytes=0-' } })
    expect([answer.status, answer.headers['content-range']]).to.deep.equal([416, 'bytes */0'])
  })

  it('returns problem documents', async () => {
    const hex = await put(randomBytes(10))
    const cases: [string, RequestOptions, number, string][] = [
      ['0'.repeat(64), {}, 404, 'artefact-not-found'],
      [hex.toUpperCase(), {}, 404, 'artefact-not-found'],
      [hex, { method: 'POST' }, 405, 'method-not-allowed'],
      [hex, { headers: { Range: 'bytes=10-' } }, 416, 'range-not-satisfiable'],
    ]
    for (const [name, options, status, code] of cases) {
      const answer = await ask(name, options)
      expect(answer.status, name).to.equal(status)
      expect(answer.headers['content-type']).to.equal('application/problem+json')
      expect(answer.headers).to.include(safetyHeaders)
      const problem = JSON.parse(answer.body.toString())
      expect(problem).to.deep.equal({
        ...makeProblem(status, code, problem.detail),
        type: `urn:service:problem:${code}`,
      })
      expect(problem.detail).to.be.a('string')
      if (status === 405) expect(answer.headers.allow).to.equal('GET, HEAD')
    }
    const headOnly = await ask('0'.repeat(64), { method: 'HEAD' })
    expect([headOnly.status, headOnly.body.length]).to.deep.equal([404, 0])
  })

  const names: [string | undefined, string][] = [
    [undefined, 'attachment; filename=<hex>'],
    ['../../x"y\\z', 'attachment; filename=".._.._x\\"y_z"'],
    [
      "Wörk 'a'.png",
      "attachment; filename=\"W?rk 'a'.png\"; filename*=UTF-8''W%C3%B6rk%20%27a%27.png",
    ],
    ['\ud800x\u202egnp.exe', 'attachment; filename=_x_gnp.exe'],
  ]
  for (const [displayName, expected] of names) {
    it(`names the file ${JSON.stringify(displayName)} safely`, async () => {
      const hex = await put(
        randomBytes(10),
        displayName === undefined ? {} : { display_name: displayName },
      )
      const { headers } = await ask(hex)
      expect(headers['content-disposition']).to.equal(expected.replace('<hex>', hex))
    })
  }

  it('cuts the connection before the end of a damaged body', async () => {
    const hex = await put(randomBytes(2_000_000))
    damage(root, hex)
    const { isComplete, body } = await ask(hex)
    expect(log.lines).to.have.length(1)
    expect(isComplete).to.equal(false)
    expect(body.length).to.be.lessThan(2_000_000)
  })

  it('returns 500 for a damaged small body', async () => {
    const hex = await put(randomBytes(1000))
    damage(root, hex)
    const { status, body } = await ask(hex)
    expect([status, JSON.parse(body.toString()).code]).to.deep.equal([500, 'artefact-corrupt'])
  })

  it('returns 500 when the file system fails, and logs the reason', async () => {
    const hex = await put(randomBytes(1000))
    const shard = join(root, 'sha256', hex.slice(0, 2))
    fs.rmSync(shard, { recursive: true })
    // Whatever is looked for in a link to itself fails with ELOOP.
    fs.symlinkSync(shard, shard)
    const { status, headers, body } = await ask(hex)
    fs.rmSync(shard)
    expect([status, JSON.parse(body.toString()).code]).to.deep.equal([500, 'storage-failed'])
    expect(body.toString()).not.to.contain(root)
    expect(headers['x-content-type-options']).to.equal('nosniff')
    const [line, ...more] = log.lines.filter(({ level }) => level === 'error')
    expect(more).to.deep.equal([])
    expect(line?.text).to.contain('an artefact could not be sent').and.contain(hex)
  })

  it('closes the file of a client that goes away or does not read', async () => {
    const hex = await put(randomBytes(30_000_000))
    const path = `/artefacts/sha256/${hex}`
    const req = request({ host: '127.0.0.1', port, path, agent: false }).end()
    const [res] = (await once(req, 'response')) as [IncomingMessage]
    expect(store.opened).to.equal(1)
    res.on('error', () => {})
    res.destroy()
    await until(() => handled === 1, 'the end of the first')
    expect(store.opened).to.equal(0)
    const socket = connect(port, '127.0.0.1')
    socket.pause()
    socket.on('error', () => {})
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`)
    await until(() => handled === 2, 'the end of the second')
    expect(store.opened).to.equal(0)
    socket.destroy()
  })
})
