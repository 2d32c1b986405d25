import { expect } from 'chai'
import { type LinkAnswer, LinkClient } from '../../helpers/link.ts'
import { RawSession, rpc } from '../../helpers/mcp.ts'
import { expectHealthy, failureOf } from '../../process/host-link-health.ts'
import { exchange, RawSocket, requestText } from '../../process/raw-socket.ts'
import { serveInProcess } from '../../helpers/in-process-servers.ts'
import type { RunningServe } from '../../helpers/serve-process.ts'

const MiB = 1024 * 1024
/** Long enough for a hundred connections, and for 9 MB, on a machine at work. */
const deadlineMs = 8000

describe('answers of an application over the host link', () => {
  let serve: RunningServe
  let session: RawSession
  let app: LinkClient

  before(async () => {
    const flags = [`--limit=linkReadMs=${deadlineMs}`, `--limit=maxMessageBytes=${8 * MiB}`]
    serve = await serveInProcess({ flags })
    session = await RawSession.open(serve.url)
  })

  beforeEach(async () => {
    app = await LinkClient.connect(serve)
    await app.done({ type: 'producer.register', scheme: 'app' })
  })

  afterEach(async () => {
    if (app.ws.readyState === app.ws.OPEN) await app.bye()
    await expectHealthy(serve)
  })

  after(async () => {
    await serve.stop()
    expect(serve.output().stderr).not.to.match(/"level":"error"|\n\s+at /)
  })

  const read = (uri: string) => session.call('resources/read', { uri })
  const contentsOf = (uri: string, text: string) => ({ contents: [{ uri, text }] })

  it('are the contents, blobs and several of them included', async () => {
    const blob = Buffer.from([0, 255, 1]).toString('base64')
    app.answer = ({ uri }) => ({
      contents: [
        { uri, mimeType: 'text/plain', text: 'ü', blob: null },
        { uri: `${uri}#2`, blob },
      ],
    })
    const { result } = await read('app://several?depth=2')
    expect(result.contents).to.deep.equal([
      { uri: 'app://several?depth=2', mimeType: 'text/plain', text: 'ü' },
      { uri: 'app://several?depth=2#2', mimeType: 'application/octet-stream', blob },
    ])
    expect(app.ofType('read')[0]).to.include({
      uri: 'app://several?depth=2',
      deadline_ms: deadlineMs,
    })
  })

  /** Title, answer, `data.reason` or code. */
  const failures: [string, LinkAnswer, string | number][] = [
    ['not_found', { code: 'not_found', message: 'no such object' }, -32002],
    ['invalid', { code: 'invalid', message: 'the depth is wrong' }, -32602],
    ['busy', { code: 'busy', message: 'a dialog is open', retryable: true }, 'host_busy'],
    ['internal', { code: 'internal', message: 'Traceback' }, 'host_failed'],
    ['a code of tomorrow', { code: 'melted', message: 'hot' }, 'host_failed'],
    ['no contents', {}, 'host_failed'],
    ['contents that are a text', { contents: 'text' }, 'host_failed'],
    ['a content without uri', { contents: [{ text: 'a' }] }, 'host_failed'],
    ['a content without bytes', { contents: [{ uri: 'app://a' }] }, 'host_failed'],
    [
      'text and blob at once',
      { contents: [{ uri: 'app://a', text: '', blob: '' }] },
      'host_failed',
    ],
    ['a blob that is no base64', { contents: [{ uri: 'app://a', blob: '%' }] }, 'host_failed'],
  ]

  it('that fail, or are of the wrong form, fail that read alone', async () => {
    for (const [title, answer, reason] of failures) {
      app.answer = () => answer
      expect(await failureOf(session, 'app://a'), title).to.equal(reason)
    }
    app.answer = ({ uri }) => contentsOf(uri, 'well')
    expect((await read('app://a')).result.contents[0].text).to.equal('well')
    const { error } = await (async () => {
      app.answer = () => ({ code: 'invalid', message: 'the depth is wrong' })
      return read('app://b')
    })()
    expect(error.message).to.contain('the depth is wrong')
  })

  it('that come late, twice or unasked are nobody’s', async () => {
    expect(await failureOf(session, 'app://late')).to.equal('host_timeout')
    const [{ id: late }] = app.ofType('read')
    app.answer = ({ id, uri }) => {
      app.say({ type: 'ok', id: late, ...contentsOf(uri, 'late') })
      app.say({ type: 'ok', id: 's9999', ...contentsOf(uri, 'unasked') })
      app.say({ type: 'ok', id, ...contentsOf(uri, 'first') })
      return contentsOf(uri, 'second')
    }
    for (const uri of ['app://late', 'app://late', 'app://twice']) {
      expect((await read(uri)).result.contents[0].text).to.equal('first')
    }
    expect(app.ofType('error')).to.deep.equal([])
  })

  it('of 9 MB end the link with 1009, and the read with host_disconnected', async () => {
    app.answer = ({ uri }) => contentsOf(uri, 'x'.repeat(9 * MiB))
    expect(await failureOf(session, 'app://large')).to.equal('host_disconnected')
    expect(await app.closed).to.include({ code: 1009 })
  })

  it('of 7 MiB are passed on', async () => {
    app.answer = ({ uri }) => contentsOf(uri, 'x'.repeat(7 * MiB))
    expect((await read('app://large')).result.contents[0].text).to.have.lengthOf(7 * MiB)
  })

  it('are waited for by 8 readers at once, others hear host_busy', async () => {
    const waiting = Promise.withResolvers<void>()
    app.answer = async ({ uri }) => {
      await waiting.promise
      return contentsOf(uri, '')
    }
    const first = Array.from({ length: 8 }, (_, number) => failureOf(session, `app://${number}`))
    await app.until(() => app.ofType('read').length === 8, 'eight questions')
    for (let number = 8; number < 20; number++) {
      expect(await failureOf(session, `app://${number}`)).to.equal('host_busy')
    }
    waiting.resolve()
    expect(await Promise.all(first)).to.deep.equal(Array(8).fill(null))
    expect(app.ofType('read')).to.have.lengthOf(8)
    expect(await failureOf(session, 'app://8')).to.equal(null)
  })

  it('to 100 readers of one URI are asked for once', async () => {
    const asked = Promise.withResolvers<void>()
    app.answer = async ({ uri }) => {
      await asked.promise
      return contentsOf(uri, 'shared')
    }
    const lines = Object.entries(session.headers).map(([name, value]) => `${name}: ${value}`)
    const head = ['POST /mcp HTTP/1.1', 'Host: localhost', ...lines]
    const post = (body: string) => requestText([...head, `Content-Length: ${body.length}`], body)
    const request = post(rpc('resources/read', { uri: 'app://one' }))
    const readers = await Promise.all(Array.from({ length: 100 }, () => RawSocket.open(serve.port)))
    try {
      await Promise.all(
        readers.map(({ socket }) => new Promise(resolve => socket.write(request, resolve))),
      )
      // All of them lie before the server. It takes connections, and what came over them, in turn:
      // when it has answered one that was opened after them, it knows what they ask.
      for (let round = 0; round < 2; round++) {
        expect((await exchange(serve.port, post(rpc('ping'))))?.status).to.equal(200)
      }
      expect(readers.map(({ received }) => received).join('')).to.equal('')
      asked.resolve()
      for (const reader of readers) {
        const [answer] = await reader.answers(1)
        expect(JSON.parse(answer?.body ?? '').result.contents[0].text).to.equal('shared')
      }
    } finally {
      for (const reader of readers) reader.close()
    }
    expect(app.ofType('read')).to.have.lengthOf(1)
  })

  it('that the link was lost for are host_disconnected', async () => {
    const reads = ['a', 'b', 'c'].map(name => failureOf(session, `app://${name}`))
    await app.until(() => app.ofType('read').length === 3, 'three questions')
    app.cut()
    expect(await Promise.all(reads)).to.deep.equal(Array(3).fill('host_disconnected'))
    expect(await failureOf(session, 'app://d')).to.equal('host_disconnected')
    // The same run comes back: its schemes wait for it.
    app = await LinkClient.connect(serve)
    await app.done({ type: 'producer.register', scheme: 'app' })
    app.answer = ({ uri }) => contentsOf(uri, 'back')
    expect(await failureOf(session, 'app://d')).to.equal(null)
  })

  it('never come, and a thousand reads in turn leave no question open', async () => {
    app.answer = ({ uri }) => (uri.endsWith('0') ? undefined : contentsOf(uri, ''))
    const outcomes: string[] = []
    for (let round = 0; round < 125; round++) {
      const names = Array.from({ length: 8 }, (_, index) => `app://${round * 8 + index}x`)
      outcomes.push(...(await Promise.all(names.map(uri => failureOf(session, uri)))))
    }
    expect(outcomes).to.deep.equal(Array(1000).fill(null))
    const silent = Array.from({ length: 8 }, (_, number) => failureOf(session, `app://${number}0`))
    expect(await Promise.all(silent)).to.deep.equal(Array(8).fill('host_timeout'))
    expect(await failureOf(session, 'app://1')).to.equal(null)
  })
})
