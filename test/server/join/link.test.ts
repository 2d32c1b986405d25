import { expect } from 'chai'
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import type { Http2ServerResponse } from 'node:http2'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { InstanceRequest } from '../../../src/server/gateway/relay/transport.ts'
import { until } from '../../helpers/until.ts'
import { CuttingProxy } from '../../helpers/cutting-proxy.ts'
import { acceptLinks, joinAs } from '../../helpers/join.ts'
import { listening } from '../../helpers/listening.ts'

const never = new AbortController().signal
const failureOf = (promise: Promise<unknown>) =>
  promise.then(String, (error: Error) => error.message)

/** Both ends of one link, over a connection that can fall silent. */
async function openLinkPair(listener: RequestListener, pingMs?: number) {
  const server = createServer()
  const { joined } = acceptLinks(server, undefined, pingMs)
  const proxy = await CuttingProxy.open(await listening(server))
  const base = `http://127.0.0.1:${proxy.port}`
  const instance = await joinAs(base, '', { id: '', listener, pingMs })
  await until(() => joined.length === 1, 'the link')
  const gateway = joined[0]!
  const close = () => {
    proxy.close()
    server.close()
  }
  return { transport: gateway.transport, gateway, instance, proxy, close }
}

describe('a link between an instance and a gateway', () => {
  let pair: Awaited<ReturnType<typeof openLinkPair>>
  let answer: RequestListener
  /** What the instance has not answered. */
  let held: ServerResponse[]

  beforeEach(async () => {
    held = []
    answer = (_req, res) => void held.push(res)
    pair = await openLinkPair((req, res) => answer(req, res))
  })
  afterEach(() => pair.close())

  const send = (path: string, more: Partial<InstanceRequest> = {}, signal = never) =>
    pair.transport.send({ method: 'GET', path, headers: {}, ...more }, signal)

  it('carries a request and its answer, headers and bodies both ways', async () => {
    answer = async (req, res) => {
      const body = await text(req)
      res.writeHead(201, { 'X-Seen': String(req.headers['x-asked']), Connection: 'close' })
      res.end(`${req.method} ${req.url} ${body}`)
    }
    const more = { method: 'POST', headers: { 'X-Asked': 'yes' }, body: 'hello' }
    const { status, headers, body } = await send('/mcp?x=1', more)
    expect([status, headers['x-seen']]).to.deep.equal([201, 'yes'])
    // Meanwhile the whole answer arrives.
    await text((await send('/other', more)).body.stream())
    expect(await text(body.stream())).to.equal('POST /mcp?x=1 hello')
  })

  it('carries many requests at once, and many that stall delay no other', async () => {
    answer = (_req, res) => void res.writeHead(200).write(Buffer.alloc(300 * 1024))
    for (let n = 0; n < 130; n++) {
      const { body } = await send('/x')
      expect((await body.collect()).isWhole).to.equal(false)
    }
    answer = (req, res) => void res.end(req.url)
    const paths = Array.from({ length: 130 }, (_, at) => `/${at}`)
    const answers = paths.map(async path => text((await send(path)).body.stream()))
    expect(await Promise.all(answers)).to.deep.equal(paths)
  })

  it('holds what a reader does not take at the instance, a window of it aside', async () => {
    let written = 0
    answer = (req, res) => {
      if (req.url !== '/large') return void res.end()
      res.writeHead(200)
      const more = () => {
        while (written++ < 1024) if (!res.write(Buffer.alloc(16 * 1024))) return
      }
      res.on('drain', more)
      more()
    }
    const { body } = await send('/large')
    // Whatever may come has come before these are answered.
    for (let round = 0; round < 30; round++) await text((await send(`/${round}`)).body.stream())
    expect(written).to.be.above(1).and.below(40)
    body.destroy()
  })

  it('goes on after more cancelled answers than its memory could hold', async () => {
    answer = (_req, res) => void res.writeHead(200).write(Buffer.alloc(1024 * 1024))
    for (let round = 0; round < 120; round++) (await send('/large')).body.destroy()
    answer = (_req, res) => void res.end('whole')
    expect(await text((await send('/')).body.stream())).to.equal('whole')
  })

  describe('an answer that is cut', () => {
    it('by the instance fails', async () => {
      answer = (_req, res) => {
        res.writeHead(200, { 'Content-Length': 1000 }).write('half')
        setImmediate(() => res.destroy())
      }
      expect(await failureOf(text((await send('/x')).body.stream()))).to.equal('the link was cut')
    })

    it('before it begins fails', async () => {
      answer = (_req, res) => (res as unknown as Http2ServerResponse).stream.close()
      expect(await failureOf(send('/x'))).to.equal('the link was cut')
    })

    it('with the link fails, and so does what has not begun, and what follows', async () => {
      answer = (_req, res) => void res.writeHead(200).write('half')
      const { body } = await send('/begun')
      answer = (_req, res) => void held.push(res)
      const waiting = failureOf(send('/waiting'))
      await until(() => held.length === 1, 'the request')
      pair.instance.socket.destroy()
      expect(await failureOf(text(body.stream()))).to.equal('the link was cut')
      expect(await waiting).to.equal('the link was cut')
      expect((await pair.gateway.link.ended).code).to.equal(1006)
      expect(await failureOf(send('/after'))).to.equal('the link was cut')
    })

    it('by its reader ends at the instance', async () => {
      const closed: string[] = []
      answer = (req, res) => {
        res.once('close', () => closed.push(req.url ?? ''))
        if (req.url === '/begun') res.writeHead(200).write('half')
      }
      const leaving = new AbortController()
      const waiting = failureOf(send('/waiting', {}, leaving.signal))
      const begun = await send('/begun')
      begun.body.destroy()
      leaving.abort(new Error('left'))
      expect(await waiting).to.equal('left')
      await until(() => closed.length === 2, 'the end at the instance')
      expect(closed).to.include.members(['/waiting', '/begun'])
    })
  })

  // Node has aborted the process when HTTP/2 wrote to a stream whose other half had ended.
  for (const end of ['gateway', 'instance'] as const) {
    it(`is cut by the ${end} in the middle of work without harm to either process`, async () => {
      const bytes = Buffer.alloc(4 * 1024 * 1024)
      answer = (req, res) => {
        req.resume()
        res.writeHead(200).write(bytes)
        setImmediate(() => res.end(bytes))
      }
      const drain = async (body: Readable) => {
        for await (const _ of body);
      }
      const asked = Array.from({ length: 20 }, async (_, at) => {
        const sent = { method: 'POST', body: bytes.subarray(0, 100_000) }
        await drain((await send(`/${at}`, sent)).body.stream())
      })
      const { socket, link } = pair[end]
      const before = socket.bytesRead
      await until(() => socket.bytesRead > before + 100_000, 'some bytes')
      if (end === 'gateway') link.close(1001, 'stopped')
      else socket.destroy()
      await Promise.allSettled(asked)
      await Promise.all([pair.gateway.link.ended, pair.instance.link.ended])
    })
  }

  it('is cut off by either end when nothing comes, and not while pings do', async () => {
    const quiet = await openLinkPair((_req, res) => void res.end(), 40)
    const { gateway, instance } = quiet
    let arrivals = 0
    for (const { socket } of [gateway, instance]) socket.on('data', () => void arrivals++)
    await until(() => arrivals > 20, 'pings')
    quiet.proxy.silence()
    for (const { ended } of [gateway.link, instance.link]) {
      expect(await ended).to.deep.equal({ code: 1006, reason: 'nothing came for 0.08 s' })
    }
    quiet.close()
  })
})
