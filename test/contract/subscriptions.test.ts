import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { expect } from 'chai'
import { AuditLog } from '../../src/index.ts'
import { ask, postHeaders, RawSession, rpc } from '../helpers/mcp.ts'
import { failure, listen, many, scene, useArtefacts, useServer } from './support.ts'

describe('a subscription of a session', () => {
  const log = new AuditLog()
  const section = useServer({}, server => {
    server.resources().wireAuditLog(log)
    server.resources().addProducer(many('notes', 0))
  })
  const setScene = (value: object) => section.server.resources().setScene(value)
  const call = (method: string, uri: string) => section.session.call(`resources/${method}`, { uri })

  it('brings updates from resources/subscribe on, until resources/unsubscribe; both answer {}', async () => {
    const events = await listen(section.session, 'scene://delta')
    setScene({ n: 1 })
    expect(await call('subscribe', scene)).to.have.deep.property('result', {})
    setScene({ n: 2 })
    expect(await call('unsubscribe', scene)).to.have.deep.property('result', {})
    setScene({ n: 3 })
    await events.until(() => events.updates.filter(uri => uri === 'scene://delta').length === 3)
    expect(events.updates.filter(uri => uri === scene)).to.have.length(1)
  })

  it('needs a session: 400 without one, 404 for an unknown one', async () => {
    const body = rpc('resources/subscribe', { uri: scene })
    const without = await ask(section.url, { method: 'POST', headers: postHeaders, body })
    expect(without.status).to.equal(400)
    const headers = { ...postHeaders, 'Mcp-Session-Id': 'unknown' }
    expect((await ask(section.url, { method: 'POST', headers, body })).status).to.equal(404)
  })

  it('ends with DELETE of the session, as do its stream and its id', async () => {
    const events = await listen(section.session, scene)
    expect((await section.session.delete()).status).to.equal(204)
    await events.untilEnded()
    setScene({})
    expect(events.updates).to.deep.equal([])
    expect((await section.session.post(rpc('ping'))).status).to.equal(404)
  })

  it('brings nothing later that happened while the client was away', async () => {
    const before = await listen(section.session, scene)
    before.close()
    await before.untilEnded()
    setScene({ missed: true })
    const events = await listen(section.session)
    setScene({ heard: true })
    await events.until(() => events.updates.length > 0)
    await section.session.call('ping')
    expect(events.updates).to.deep.equal([scene])
  })

  it('goes to the newest stream of the session, and ends the older one', async () => {
    const older = await listen(section.session, scene)
    const newer = await listen(section.session)
    await older.untilEnded()
    setScene({})
    await newer.until(() => newer.updates.length === 1)
    expect(older.updates).to.deep.equal([])
  })

  it('is accepted for a URI of a served scheme before it exists, and not for another scheme', async () => {
    for (const uri of ['events://session/later', 'notes://later', 'scene://other']) {
      expect(await call('subscribe', uri), uri).to.have.deep.property('result', {})
    }
    const error = await failure(section.session, 'resources/subscribe', { uri: 'nowhere://x' })
    expect(error).to.deep.include({ code: -32002, data: { uri: 'nowhere://x' } })
    expect(error.message).to.contain('list the resources and the URI templates')
  })
})

describe('a subscription with artefacts', () => {
  const section = useArtefacts()
  const malformed = [
    'scene://current with spaces',
    'scene://delta?since=x',
    'audit://recent?limit=1&limit=2',
    'events://session/s?cursor=-1',
    'artefact://sha256/xyz',
    'no uri',
  ]

  it('is refused for a malformed URI with −32602, and taken for an artefact to come', async () => {
    for (const uri of malformed) {
      const { code } = await failure(section.session, 'resources/subscribe', { uri })
      expect(code, uri).to.equal(-32602)
    }
    await listen(section.session, `artefact://sha256/${'0'.repeat(64)}`)
  })
})

describe('an event stream', () => {
  const section = useServer()

  it('has no ids, no retry and no priming event', async () => {
    await section.session.call('resources/subscribe', { uri: scene })
    const { text, until } = await rawStream(section.session)
    for (let n = 1; n <= 3; n++) {
      section.server.resources().setScene({ n })
      await until(() => text().split(scene).length > n)
    }
    const lines = text().split('\n')
    const data = lines.filter(line => line.startsWith('data:'))
    expect(data).to.have.length(3)
    for (const line of data) expect(line).to.match(/^data: \{"jsonrpc"/)
    expect(lines.filter(line => !/^(data|event):|^:|^$/.test(line))).to.deep.equal([])
  })
})

/** The bytes of a GET stream. */
async function rawStream({ url, headers }: RawSession, more: Record<string, string> = {}) {
  const accepting = { ...headers, ...more, Accept: 'text/event-stream' }
  const req = request(url, { headers: accepting, agent: false }).end()
  const [res] = (await once(req, 'response')) as [IncomingMessage]
  let text = ''
  res.setEncoding('utf8').on('data', (piece: string) => (text += piece))
  const until = async (isEnough: () => boolean) => {
    while (!isEnough()) await once(res, 'data')
  }
  return { text: () => text, until }
}
