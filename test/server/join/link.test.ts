import { expect } from 'chai'
import { once } from 'node:events'
import type { RequestListener, ServerResponse } from 'node:http'
import { constants, type ServerHttp2Stream } from 'node:http2'
import { until } from '../../helpers/until.ts'
import { type LinkPair, openLinkPair } from '../../helpers/join-link.ts'

const url = (path: string) => new URL(path, 'http://instance')
const never = new AbortController().signal

describe('a link between an instance and a gateway', () => {
  let pair: LinkPair
  let answer: RequestListener
  /** What the instance has not answered. */
  let held: ServerResponse[]

  beforeEach(async () => {
    held = []
    answer = (_req, res) => void held.push(res)
    pair = await openLinkPair((req, res) => answer(req, res), { joinWindowBytes: 64 * 1024 })
  })
  afterEach(() => pair.close())

  const ask = (
    path: string,
    more: { body?: string; answerMs?: number; signal?: AbortSignal } = {},
  ) =>
    pair.client.ask({
      url: url(path),
      method: 'body' in more ? 'POST' : 'GET',
      headers: {},
      answerMs: 60_000,
      signal: never,
      ...more,
    })

  /** What a receiver of a read heard, in order. */
  const read = (path: string, times = { answerMs: 60_000, silenceMs: 60_000 }) => {
    const heard: string[] = []
    const cancel = pair.client.send(
      { url: url(path), headers: { 'Content-Type': 'text/plain' }, body: 'question', ...times },
      {
        begun: status => heard.push(`begun ${status}`),
        data: chunk => heard.push(chunk.toString()),
        ended: () => heard.push('ended'),
        failed: reason => heard.push(`failed: ${reason.message}`),
      },
    )
    const over = () => heard.some(each => /^(ended|failed)/.test(each))
    return { heard, cancel, over: () => until(over, 'the end of the read') }
  }

  it('ends when HTTP/2 takes no more requests, also while an answer is open', async () => {
    const asked = ask('/join/v1/record').catch((error: Error) => error.message)
    await until(() => held.length === 1, 'the request')
    const { req } = held[0] as unknown as { req: { stream: ServerHttp2Stream } }
    req.stream.session?.goaway()
    await pair.gateway.link.ended
    expect(await asked).to.equal('the link was cut')
  })

  it('ends when its instance refuses requests because too much is held', async () => {
    answer = req => {
      const { stream } = req as unknown as { stream: ServerHttp2Stream }
      stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM)
    }
    await ask('/mcp').catch(() => {})
    expect((await pair.gateway.link.ended).code).to.equal(1006)
  })

  it('carries a request and its answer, headers and bodies both ways', async () => {
    answer = async (req, res) => {
      let body = ''
      for await (const chunk of req) body += String(chunk)
      res.writeHead(201, { 'X-Seen': String(req.headers['x-asked']), Connection: 'close' })
      res.end(`${req.method} ${req.url} ${body}`)
    }
    const answered = await pair.client.ask({
      url: url('/mcp?x=1'),
      method: 'POST',
      headers: { 'X-Asked': 'yes' },
      body: 'hello',
      answerMs: 60_000,
      signal: never,
    })
    expect([answered.statusCode, answered.headers['x-seen']]).to.deep.equal([201, 'yes'])
    expect(String(Buffer.concat(await answered.toArray()))).to.equal('POST /mcp?x=1 hello')
    const { heard, over } = read('/mcp')
    await over()
    expect(heard).to.deep.equal(['begun 201', 'POST /mcp question', 'ended'])
  })

  it('carries many requests at once, and one that stalls delays no other', async () => {
    const stalled = await (async () => {
      answer = (_req, res) => void res.writeHead(200).write(Buffer.alloc(8 * 1024 * 1024))
      return ask('/stalled')
    })()
    answer = (req, res) => void res.end(req.url)
    const reads = Array.from({ length: 300 }, (_, at) => read(`/${at}`))
    await Promise.all(reads.map(({ over }) => over()))
    expect(reads.map(({ heard }) => heard.slice(1).join())).to.deep.equal(
      reads.map((_, at) => `/${at},ended`),
    )
    stalled.destroy()
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
    const answered = await ask('/large')
    // Whatever may come has come before these are answered.
    for (let round = 0; round < 30; round++) await read(`/${round}`).over()
    expect(written).to.be.above(1).and.below(24)
    answered.destroy()
  })

  describe('an answer that is cut', () => {
    it('by the instance fails, for a read and for a stream', async () => {
      answer = (_req, res) => {
        res.writeHead(200, { 'Content-Length': 1000 }).write('half')
        setImmediate(() => res.destroy())
      }
      const failure = await (await ask('/x')).toArray().catch((error: Error) => error.message)
      expect(failure).to.equal('the link was cut')
      const { heard, over } = read('/x')
      await over()
      expect(heard.at(-1)).to.equal('failed: the link was cut')
    })

    it('with the link fails, and so does what has not begun, and what follows', async () => {
      answer = (_req, res) => void res.writeHead(200, { 'Content-Length': 1000 }).write('half')
      const begun = await ask('/begun')
      const read1 = read('/begun')
      await until(() => read1.heard.length > 1, 'the beginning')
      answer = (_req, res) => void held.push(res)
      const waiting = ask('/waiting').catch((error: Error) => error.message)
      const read2 = read('/waiting')
      await until(() => held.length === 2, 'the requests')
      pair.instance.socket.destroy()
      expect(await begun.toArray().catch((error: Error) => error.message)).to.equal(
        'the link was cut',
      )
      expect(await waiting).to.equal('the link was cut')
      await Promise.all([read1.over(), read2.over()])
      expect(read1.heard.at(-1)).to.equal('failed: the link was cut')
      expect(read2.heard).to.deep.equal(['failed: the link was cut'])
      expect((await pair.gateway.link.ended).code).to.equal(1006)
      expect(await ask('/after').catch((error: Error) => error.message)).to.equal(
        'the link was cut',
      )
    })

    it('by its reader ends at the instance', async () => {
      const closed: string[] = []
      answer = (req, res) => {
        res.once('close', () => closed.push(req.url ?? ''))
        if (req.url === '/begun') res.writeHead(200).write('half')
      }
      const leaving = new AbortController()
      const waiting = ask('/waiting', { signal: leaving.signal }).catch((error: Error) => error)
      const begun = await ask('/begun')
      begun.destroy()
      leaving.abort(new Error('left'))
      expect((await waiting) as Error).to.have.property('message', 'left')
      const { heard, cancel, over } = read('/read')
      cancel(new Error('its reader has left'))
      await over()
      expect(heard).to.deep.equal(['failed: its reader has left'])
      await until(() => closed.length >= 2, 'the end at the instance')
      expect(closed).to.include.members(['/waiting', '/begun'])
    })
  })

  it('fails what is not answered in time, and what falls silent', async () => {
    const late = await ask('/late', { answerMs: 20 }).catch((error: Error) => error.message)
    expect(late).to.equal('it does not answer')
    const { heard, over } = read('/late', { answerMs: 20, silenceMs: 60_000 })
    await over()
    expect(heard).to.deep.equal(['failed: it does not answer'])
    answer = (_req, res) => void res.writeHead(200).write('half')
    const silent = read('/silent', { answerMs: 60_000, silenceMs: 20 })
    await silent.over()
    expect(silent.heard).to.deep.equal(['begun 200', 'half', 'failed: it stopped answering'])
  })

  it('ends with an instance that sends headers without bound', async () => {
    answer = (_req, res) =>
      void res.writeHead(200, { 'X-Long': 'x'.repeat(80 * 1024) }).end('there')
    const long = await ask('/long').catch((error: Error) => error.message)
    expect(long).to.equal('the link was cut')
    expect((await pair.gateway.link.ended).code).to.equal(1006)
  })

  for (const end of ['gateway', 'instance'] as const) {
    it(`is cut by the ${end} in the middle of work without harm to either process`, async () => {
      const bytes = Buffer.alloc(4 * 1024 * 1024)
      const busy = await openLinkPair((req, res) => {
        req.resume()
        res.writeHead(200).write(bytes)
        setImmediate(() => res.end(bytes))
      })
      const asked = Array.from({ length: 20 }, async (_, at) => {
        const answered = await busy.client.ask({
          url: url(`/${at}`),
          method: 'POST',
          headers: {},
          body: bytes.subarray(0, 100_000),
          answerMs: 60_000,
          signal: never,
        })
        for await (const _ of answered);
      })
      const { socket, link } = busy[end]
      const before = socket.bytesRead
      await until(() => socket.bytesRead > before + 100_000, 'some bytes')
      if (end === 'gateway') link.close(1001, 'stopped')
      else socket.destroy()
      await Promise.allSettled(asked)
      await Promise.all([busy.gateway.link.ended, busy.instance.link.ended])
      busy.close()
    })
  }

  it('tells the other end why it closes', async () => {
    pair.gateway.link.close(4003, 'the token was revoked')
    expect(await pair.instance.link.ended).to.deep.equal({
      code: 4003,
      reason: 'the token was revoked',
    })
  })

  // Node has aborted the process when HTTP/2 wrote to a stream whose other half had ended.
  describe('has a stream', () => {
    for (const ending of ['closes', 'is cut'] as const) {
      it(`that never ends before it closes when the WebSocket ${ending}`, async () => {
        const ends = [pair.gateway.link, pair.instance.link].map(({ stream }) => {
          const seen: string[] = []
          for (const event of ['end', 'finish', 'close']) stream.on(event, () => seen.push(event))
          return { stream, seen, closed: once(stream, 'close') }
        })
        if (ending === 'closes') pair.instance.link.close(1001, 'it stops')
        else pair.instance.socket.destroy()
        for (const { stream, seen, closed } of ends) {
          await closed
          expect(seen).to.deep.equal(['close'])
          expect([stream.readableEnded, stream.writableFinished]).to.deep.equal([false, false])
        }
      })
    }

    it('that is gone as soon as HTTP/2 has ended its half', async () => {
      const { stream } = pair.gateway.link
      const closed = once(stream, 'close')
      stream.end()
      await closed
      expect((await pair.instance.link.ended).code).to.equal(1006)
    })
  })
})

describe('a link on which nothing comes', () => {
  it('is cut off, by either end, and one with pings alone is not', async () => {
    const bounds = { joinPingMs: 40, joinSilenceMs: 100 }
    const quiet = await openLinkPair((_req, res) => void res.end(), bounds)
    const { gateway, instance } = quiet
    let arrivals = 0
    for (const { socket } of [gateway, instance]) socket.on('data', () => void arrivals++)
    await until(() => arrivals > 20, 'pings')
    quiet.silence()
    for (const { ended } of [gateway.link, instance.link]) {
      expect(await ended).to.deep.equal({ code: 1006, reason: 'nothing came for 0.1 s' })
    }
    quiet.close()
  })
})
