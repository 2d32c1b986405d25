import { expect } from 'chai'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import * as fs from 'node:fs'
import { type IncomingMessage, type RequestOptions, createServer, request } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import { resolveLimits } from '../../../src/lib/config/limits.ts'
import { createArtefactDownload } from '../../../src/server/http/artefact-download.ts'
import { type FsStore, createFsStore } from '../../../src/server/artefacts/fs-store.ts'
import type { ArtefactStore } from '../../../src/server/artefacts/store.ts'
import { makeProblem } from '../../../src/server/http/problem.ts'
import { recordingLog, settableClock, sha256, withFolder } from '../artefacts/support.ts'

interface Setup {
  root: string
  store: FsStore
  port: number
  /** Artefacts opened and not closed yet. */
  opened(): number
  /** Artefacts opened to be sent, so far. */
  sent(): number
  /** Resolves when the handler has answered for the n-th time. */
  handled(count: number): Promise<void>
  log: ReturnType<typeof recordingLog>
}

/** The real store, with its open artefacts counted. */
function counting(store: ArtefactStore) {
  let opened = 0
  let sent = 0
  const counted: ArtefactStore = {
    ...store,
    async openToSend(hex, cut) {
      const artefact = await store.openToSend(hex, cut)
      if (artefact === null) return null
      opened++
      sent++
      return {
        ...artefact,
        async close() {
          opened--
          await artefact.close()
        },
      }
    },
  }
  return { counted, opened: () => opened, sent: () => sent }
}

function withServer(use: (setup: Setup) => Promise<void>, bodyTimeoutMs = 10_000) {
  return withFolder(async root => {
    const store = await createFsStore({ root, clock: settableClock() })
    const { counted, opened, sent } = counting(store)
    const limits = resolveLimits({ bodyTimeoutMs })
    const log = recordingLog()
    const download = createArtefactDownload({ store: counted, limits, log })
    let done = 0
    let onDone = () => {}
    const server = createServer((req, res) => {
      const hex = (req.url ?? '').replace('/artefacts/sha256/', '')
      void download(req, res, hex).then(() => {
        done++
        onDone()
      })
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const handled = async (count: number) => {
      while (done < count) await new Promise<void>(resolve => (onDone = resolve))
    }
    try {
      await use({ root, store, port, opened, sent, handled, log })
    } finally {
      server.closeAllConnections()
      server.close()
      await store.close()
    }
  })
}

interface Answer {
  status: number
  headers: IncomingMessage['headers']
  body: Buffer
  isComplete: boolean
}

async function ask(port: number, hex: string, options: RequestOptions = {}): Promise<Answer> {
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

function flipLast(root: string, hex: string): void {
  const path = join(root, 'sha256', hex.slice(0, 2), hex)
  const bytes = fs.readFileSync(path)
  bytes[bytes.length - 1] = (bytes[bytes.length - 1] ?? 0) ^ 1
  fs.writeFileSync(path, bytes)
}

async function put(store: FsStore, bytes: Uint8Array, options = {}): Promise<string> {
  await store.put(bytes, options)
  return sha256(bytes)
}

describe('artefact download', () => {
  it('sends the bytes with headers that keep a browser from running them', () =>
    withServer(async ({ store, port, opened }) => {
      const bytes = randomBytes(1_000_000)
      const hex = await put(store, bytes, { mime: 'text/html', displayName: 'page.html' })
      const { status, headers, body } = await ask(port, hex)
      expect(status).to.equal(200)
      expect(body.equals(bytes)).to.equal(true)
      expect(headers).to.include({
        'accept-ranges': 'bytes',
        'cache-control': 'private, no-cache',
        'content-disposition': 'attachment; filename="page.html"',
        'content-length': '1000000',
        'content-security-policy': "sandbox; default-src 'none'",
        'content-type': 'text/html',
        'cross-origin-resource-policy': 'same-origin',
        etag: `"${hex}"`,
        'last-modified': 'Tue, 01 Jan 2030 00:00:00 GMT',
        'x-content-type-options': 'nosniff',
      })
      const head = await ask(port, hex, { method: 'HEAD', headers: { Range: 'bytes=0-1' } })
      expect(head.status).to.equal(200)
      expect(head.headers).to.include({ 'content-length': '1000000', etag: `"${hex}"` })
      expect(head.body).to.have.length(0)
      const empty = await ask(port, await put(store, new Uint8Array()))
      expect([empty.status, empty.headers['content-length']]).to.deep.equal([200, '0'])
      expect(opened()).to.equal(0)
    }))

  it('answers 304 when the client has the bytes', () =>
    withServer(async ({ store, port }) => {
      const hex = await put(store, randomBytes(100))
      for (const tag of [`"${hex}"`, `W/"${hex}"`, `"x", "${hex}"`, '*']) {
        const answer = await ask(port, hex, { headers: { 'If-None-Match': tag } })
        expect([tag, answer.status, answer.body.length]).to.deep.equal([tag, 304, 0])
        expect(answer.headers).to.include({ etag: `"${hex}"`, 'x-content-type-options': 'nosniff' })
      }
      const other = await ask(port, hex, { headers: { 'If-None-Match': '"x"' } })
      expect(other.status).to.equal(200)
      await store.remove(hex)
      const gone = await ask(port, hex, { headers: { 'If-None-Match': `"${hex}"` } })
      expect(gone.status).to.equal(404)
    }))

  it('sends one range, and everything when asked for what it does not do', () =>
    withServer(async ({ store, port }) => {
      const bytes = randomBytes(1000)
      const hex = await put(store, bytes)
      const etag = `"${hex}"`
      const cases: [Record<string, string>, number, string | undefined][] = [
        [{ Range: 'bytes=0-0' }, 206, 'bytes 0-0/1000'],
        [{ Range: 'bytes=990-' }, 206, 'bytes 990-999/1000'],
        [{ Range: 'bytes=-10' }, 206, 'bytes 990-999/1000'],
        [{ Range: 'bytes=-5000' }, 206, 'bytes 0-999/1000'],
        [{ Range: 'bytes=500-9999' }, 206, 'bytes 500-999/1000'],
        [{ Range: 'bytes=10-19', 'If-Range': etag }, 206, 'bytes 10-19/1000'],
        [{ Range: 'bytes=10-19', 'If-Range': '"x"' }, 200, undefined],
        [{ Range: 'bytes=10-19', 'If-Range': `W/${etag}` }, 200, undefined],
        [{ Range: 'bytes=0-1,5-6' }, 200, undefined],
        [{ Range: 'bytes=20-10' }, 200, undefined],
        [{ Range: 'bytes=-' }, 200, undefined],
        [{ Range: 'lines=1-2' }, 200, undefined],
        [{ Range: 'bytes=1000-' }, 416, 'bytes */1000'],
        [{ Range: 'bytes=-0' }, 416, 'bytes */1000'],
      ]
      for (const [headers, status, contentRange] of cases) {
        const answer = await ask(port, hex, { headers })
        const name = JSON.stringify(headers)
        expect([name, answer.status]).to.deep.equal([name, status])
        expect(answer.headers['content-range'], name).to.equal(contentRange)
        if (status === 200) expect(answer.body.equals(bytes), name).to.equal(true)
        if (status !== 206) continue
        const [, start, end] = /(\d+)-(\d+)/.exec(contentRange ?? '') ?? []
        const part = bytes.subarray(Number(start), Number(end) + 1)
        expect(answer.body.equals(part), name).to.equal(true)
        expect(answer.headers['x-content-type-options'], name).to.equal('nosniff')
      }
      const nothing = await put(store, new Uint8Array())
      const answer = await ask(port, nothing, { headers: { Range: 'bytes=0-' } })
      expect([answer.status, answer.headers['content-range']]).to.deep.equal([416, 'bytes */0'])
    }))

  it('answers problems as problems', () =>
    withServer(async ({ store, port }) => {
      const hex = await put(store, randomBytes(10))
      const cases: [string, RequestOptions, number, string][] = [
        ['0'.repeat(64), {}, 404, 'artefact-not-found'],
        [hex.toUpperCase(), {}, 404, 'artefact-not-found'],
        ['..%2f..%2fetc%2fpasswd', {}, 404, 'artefact-not-found'],
        [hex, { method: 'POST' }, 405, 'method-not-allowed'],
        [hex, { method: 'DELETE' }, 405, 'method-not-allowed'],
        [hex, { headers: { Range: 'bytes=10-' } }, 416, 'range-not-satisfiable'],
      ]
      for (const [name, options, status, code] of cases) {
        const answer = await ask(port, name, options)
        expect(answer.status, name).to.equal(status)
        expect(answer.headers['content-type']).to.equal('application/problem+json')
        expect(answer.headers['x-content-type-options']).to.equal('nosniff')
        const problem = JSON.parse(answer.body.toString())
        expect(problem).to.deep.equal({
          ...makeProblem(status, code, problem.detail),
          type: `urn:service:problem:${code}`,
        })
        expect(problem.detail).to.be.a('string')
        if (status === 405) expect(answer.headers.allow).to.equal('GET, HEAD')
      }
      const head = await ask(port, '0'.repeat(64), { method: 'HEAD' })
      expect([head.status, head.body.length]).to.deep.equal([404, 0])
    }))

  const names: [string | undefined, string][] = [
    [undefined, 'attachment; filename="<hex>"'],
    ['a b.png', 'attachment; filename="a b.png"'],
    ['../../x"y\\z', 'attachment; filename="_.._x_y_z"'],
    ['.bashrc', 'attachment; filename="bashrc"'],
    ['50%;x', 'attachment; filename="50__x"; filename*=UTF-8\'\'50%25%3Bx'],
    [
      "Wörk 'a'.png",
      "attachment; filename=\"W_rk 'a'.png\"; filename*=UTF-8''W%C3%B6rk%20%27a%27.png",
    ],
    ['\ud800x\u202egnp.exe', 'attachment; filename="_x_gnp.exe"'],
  ]
  for (const [displayName, expected] of names) {
    it(`names the file ${JSON.stringify(displayName)} safely`, () =>
      withServer(async ({ store, port }) => {
        const options = displayName === undefined ? {} : { displayName }
        const hex = await put(store, randomBytes(10), options)
        const { headers } = await ask(port, hex)
        expect(headers['content-disposition']).to.equal(expected.replace('<hex>', hex))
      }))
  }

  it('cuts the connection before the end of a damaged body', () =>
    withServer(async ({ root, store, port, opened, log }) => {
      const hex = await put(store, randomBytes(2_000_000))
      flipLast(root, hex)
      const { isComplete, body } = await ask(port, hex)
      expect(log.lines).to.have.length(1)
      expect(isComplete).to.equal(false)
      expect(body.length).to.be.lessThan(2_000_000)
      expect(opened()).to.equal(0)
      expect((await ask(port, hex)).status).to.equal(404)
    }))

  it('answers 500 when a damaged body is small enough to know before', () =>
    withServer(async ({ root, store, port }) => {
      const hex = await put(store, randomBytes(1000))
      flipLast(root, hex)
      const { status, body } = await ask(port, hex)
      expect([status, JSON.parse(body.toString()).code]).to.deep.equal([500, 'artefact-corrupt'])
    }))

  it('answers 500 when the file system fails, and only the log knows why', () =>
    withServer(async ({ root, store, port, log }) => {
      const hex = await put(store, randomBytes(1000))
      const shard = join(root, 'sha256', hex.slice(0, 2))
      fs.rmSync(shard, { recursive: true })
      // Whatever is looked for in a link to itself fails with ELOOP.
      fs.symlinkSync(shard, shard)
      const { status, headers, body } = await ask(port, hex)
      const problem = JSON.parse(body.toString())
      expect([status, problem.code]).to.deep.equal([500, 'storage-failed'])
      expect(body.toString()).not.to.contain(root)
      expect(headers['x-content-type-options']).to.equal('nosniff')
      const [line, ...more] = log.lines.filter(({ level }) => level === 'error')
      expect(more).to.deep.equal([])
      expect(line?.text).to.contain('an artefact could not be sent').and.contain(hex)
    }))

  it('takes no place among the sent bodies for answers without bytes', () =>
    withServer(async ({ store, port, sent }) => {
      const hex = await put(store, randomBytes(1000))
      const headers = { 'If-None-Match': `"${hex}"` }
      const short = [
        await ask(port, hex, { method: 'HEAD' }),
        await ask(port, hex, { headers }),
        await ask(port, hex, { headers: { Range: 'bytes=1000-' } }),
      ]
      expect(short.map(({ status }) => status)).to.deep.equal([200, 304, 416])
      expect(sent()).to.equal(0)
      expect((await ask(port, hex)).status).to.equal(200)
      expect(sent()).to.equal(1)
    }))

  it('closes the file when the client goes away', () =>
    withServer(async ({ store, port, opened, handled }) => {
      const hex = await put(store, randomBytes(30_000_000))
      const path = `/artefacts/sha256/${hex}`
      const req = request({ host: '127.0.0.1', port, path, agent: false }).end()
      const [res] = (await once(req, 'response')) as [IncomingMessage]
      expect(opened()).to.equal(1)
      res.on('error', () => {})
      res.destroy()
      await handled(1)
      expect(opened()).to.equal(0)
    }))

  it('cuts a reader that takes nothing', () =>
    withServer(async ({ store, port, opened, handled }) => {
      const hex = await put(store, randomBytes(30_000_000))
      const socket = connect(port, '127.0.0.1')
      socket.pause()
      socket.on('error', () => {})
      socket.write(`GET /artefacts/sha256/${hex} HTTP/1.1\r\nHost: x\r\n\r\n`)
      await handled(1)
      expect(opened()).to.equal(0)
      socket.destroy()
    }, 200))
})
