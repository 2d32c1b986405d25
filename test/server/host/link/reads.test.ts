import { request } from 'node:http'
import { expect } from 'chai'
import { serveInProcess } from '../../../helpers/in-process-servers.ts'
import { type LinkAnswer, LinkClient } from '../../../helpers/link.ts'
import { RawSession, rpc } from '../../../helpers/mcp.ts'
import type { RunningServe } from '../../../helpers/serve-process.ts'
import { statelessPost } from '../../../helpers/stateless.ts'
import { until } from '../../../helpers/until.ts'
import { failureOf } from '../link-health.ts'

const maxMessageBytes = 100_000

describe('reads of the resources of an application', () => {
  let serve: RunningServe
  let session: RawSession
  let app: LinkClient

  before(async () => {
    serve = await serveInProcess({ flags: [`--limit=maxMessageBytes=${maxMessageBytes}`] })
    session = await RawSession.open(serve.url)
  })

  beforeEach(async () => {
    app = await LinkClient.connect(serve)
    await app.done({ type: 'producer.register', scheme: 'app' })
  })

  after(async () => {
    await serve.stop()
    expect(serve.output().stderr).not.to.match(/"level":"error"|\n\s+at /)
  })

  const read = (uri: string) => session.call('resources/read', { uri })
  const contentsOf = (uri: string, text: string) => ({ contents: [{ uri, text }] })
  const questions = () => app.ofType('read')
  const untilAsked = (count: number) =>
    app.until(() => questions().length === count, `${count} questions`)

  it('return the contents, blobs and several of them included', async () => {
    const blob = Buffer.from([0, 255, 1]).toString('base64')
    app.answer = ({ uri }) => ({
      contents: [
        { uri, mimeType: 'text/plain', text: 'ü', blob: null },
        { uri: `${uri}#2`, blob },
      ],
    })
    const uri = 'app://several?depth=2'
    expect((await read(uri)).result.contents).to.deep.equal([
      { uri, mimeType: 'text/plain', text: 'ü' },
      { uri: `${uri}#2`, mimeType: 'application/octet-stream', blob },
    ])
    expect(questions()[0]).to.include({ uri, deadline_ms: 5000 })
  })

  it('are answered under the URI that was asked for, whatever the application wrote', async () => {
    app.answer = () => contentsOf('scene://current', 'now')
    const { result } = await read('app://Cube?part=1')
    expect(result.contents).to.deep.equal([
      { uri: 'app://Cube?part=1', mimeType: 'text/plain', text: 'now' },
    ])
  })

  const failures: [what: string, answer: LinkAnswer, reason: string | number][] = [
    ['not_found', { code: 'not_found', message: 'no such object' }, -32002],
    ['invalid', { code: 'invalid', message: 'the depth is wrong' }, -32602],
    ['busy', { code: 'busy', message: 'a dialog is open' }, 'host_busy'],
    ['internal', { code: 'internal', message: 'Traceback' }, 'host_failed'],
    ['a code of tomorrow', { code: 'melted', message: 'hot' }, 'host_failed'],
    ['no contents', {}, 'host_failed'],
    ['a content without bytes', { contents: [{ uri: 'app://a' }] }, 'host_failed'],
  ]
  it('that fail, or get an answer of the wrong form, fail alone', async () => {
    for (const [what, answer, reason] of failures) {
      app.answer = () => answer
      expect(await failureOf(session, 'app://a'), what).to.equal(reason)
    }
    app.answer = () => ({ code: 'invalid', message: 'the depth is wrong' })
    expect((await read('app://b')).error.message).to.contain('the depth is wrong')
    app.answer = ({ uri }) => contentsOf(uri, 'well')
    expect((await read('app://a')).result.contents[0].text).to.equal('well')
  })

  it('get the first answer; a second, or one to no question, is dropped', async () => {
    app.answer = ({ id, uri }) => {
      app.say({ type: 'ok', id: 's9999', ...contentsOf(uri, 'unasked') })
      app.say({ type: 'ok', id, ...contentsOf(uri, 'first') })
      return contentsOf(uri, 'second')
    }
    for (const uri of ['app://twice', 'app://twice']) {
      expect((await read(uri)).result.contents[0].text).to.equal('first')
    }
    expect(app.ofType('error')).to.deep.equal([])
  })

  it('are host_busy at their end when the heartbeats say so', async () => {
    await app.done({ type: 'heartbeat', main_idle_ms: 2001 })
    expect(await failureOf(session, 'app://a')).to.equal('host_busy')
  })

  it('wait 8 at once, and hold up nothing else; the others are host_busy', async () => {
    const waiting = Promise.withResolvers<void>()
    app.answer = async ({ uri }) => {
      await waiting.promise
      return contentsOf(uri, '')
    }
    const uris = Array.from({ length: 8 }, (_, number) => `app://${number}`)
    const first = uris.map(uri => failureOf(session, uri))
    await untilAsked(8)
    expect(await failureOf(session, 'app://8')).to.equal('host_busy')
    // Neither the scene nor a post waits for the application.
    await app.done({ type: 'scene.set', scene: { from: 'the application' } })
    expect(await session.readJson('scene://current')).to.deep.equal({ from: 'the application' })
    const posted = await serve.post('audit', { records: [{ action: 'meanwhile' }] })
    expect(posted.status).to.equal(200)
    waiting.resolve()
    expect(await Promise.all(first)).to.deep.equal(Array(8).fill(null))
    expect(questions()).to.have.lengthOf(8)
    expect(await failureOf(session, 'app://8')).to.equal(null)
  })

  it('fail with host_disconnected when the link is lost, until it is back', async () => {
    const reads = ['a', 'b', 'c'].map(name => failureOf(session, `app://${name}`))
    await untilAsked(3)
    app.cut()
    expect(await Promise.all(reads)).to.deep.equal(Array(3).fill('host_disconnected'))
    expect(await failureOf(session, 'app://d')).to.equal('host_disconnected')
    // The same run comes back: its schemes wait for it.
    app = await LinkClient.connect(serve)
    await app.done({ type: 'producer.register', scheme: 'app' })
    app.answer = ({ uri }) => contentsOf(uri, 'back')
    expect(await failureOf(session, 'app://d')).to.equal(null)
  })

  it('fail with host_disconnected when the answer is too large, which ends the link', async () => {
    app.answer = ({ uri }) => contentsOf(uri, 'x'.repeat(maxMessageBytes - 1000))
    expect((await read('app://large')).result.contents[0].text).to.have.lengthOf(99_000)
    app.answer = ({ uri }) => contentsOf(uri, 'x'.repeat(maxMessageBytes))
    expect(await failureOf(session, 'app://large')).to.equal('host_disconnected')
    expect(await app.closed).to.include({ code: 1009 })
  })

  describe('whose client closes its connection', () => {
    const uri = 'app://Cube'
    /** Asks by hand; the returned function leaves. */
    const reading = (headers: Record<string, string>, body: string) => {
      const left = request(serve.url, { method: 'POST', headers, agent: false })
      left.on('error', () => {})
      left.end(body)
      return () => void left.destroy()
    }

    it('are taken back at 2026-07-28', async () => {
      const { headers, body } = statelessPost('resources/read', { uri })
      const leave = reading(headers, body)
      await untilAsked(1)
      leave()
      await app.until(() => app.ofType('cancel').length === 1, 'the cancel')
      expect(app.ofType('cancel')[0].id).to.equal(questions()[0].id)
      app.answer = () => contentsOf(uri, 'now')
      expect((await read(uri)).result.contents[0].text).to.equal('now')
    })

    it('go on in a session', async () => {
      const accessed = () =>
        serve
          .output()
          .stderr.split('\n')
          .filter(line => /"status":null/.test(line))
      const before = accessed().length
      const leave = reading(session.headers, rpc('resources/read', { uri }))
      await untilAsked(1)
      leave()
      await until(() => accessed().length > before, 'the access log of the cut request')
      app.answer = () => contentsOf('app://other', 'here')
      expect(await failureOf(session, 'app://other')).to.equal(null)
      expect(app.ofType('cancel')).to.deep.equal([])
    })
  })
})
