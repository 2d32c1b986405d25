import { expect } from 'chai'
import { RawSession, rpc } from '../../helpers/mcp.ts'
import type { LinkClient } from '../../helpers/link.ts'
import { LinkServer } from '../host/harness.ts'

const uri = 'app://Cube'

const read = (id: unknown, of = uri) => rpc('resources/read', { uri: of }, id)
const notice = (params: unknown) =>
  JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params })

describe('notifications/cancelled in a session', () => {
  let server: LinkServer
  let url: string
  let session: RawSession
  let app: LinkClient

  beforeEach(async () => {
    server = await LinkServer.start()
    url = `http://127.0.0.1:${server.port}/mcp`
    app = await server.join()
    const templates = [{ uriTemplate: 'app://{name}', name: 'One' }]
    await app.ask({ type: 'producer.register', scheme: 'app', templates })
    session = await RawSession.open(url)
  })

  /** Ids of what the application was asked for, and of what it was told to give up. */
  const idsOf = (type: string) =>
    app.messages.filter(message => message.type === type).map(({ id }) => id)
  const untilAsked = async (count: number) => {
    while (idsOf('read').length < count) await app.next()
    return idsOf('read')[count - 1]
  }
  const answer = (id: unknown) => app.say({ type: 'ok', id, contents: [{ uri, text: 'here' }] })
  const cancelled = async () => {
    await app.settled()
    return idsOf('cancel')
  }

  for (const id of [7, 'seven']) {
    it(`stops the read with the id ${JSON.stringify(id)}, whose POST ends without an answer`, async () => {
      const reading = session.post(read(id))
      const question = await untilAsked(1)
      const { status } = await session.post(notice({ requestId: id, reason: 'changed my mind' }))
      expect(status).to.equal(202)
      const ended = await reading
      expect(await cancelled()).to.deep.equal([question])
      expect(ended).to.deep.include({ status: 200, text: '' })
      expect(ended.headers['content-type']).to.equal('text/event-stream')
    })
  }

  it('passes over an id that is unknown, of another type or session, missing or malformed', async () => {
    const other = await RawSession.open(url)
    const reading = session.post(read(7))
    const question = await untilAsked(1)
    for (const params of [{ requestId: 8 }, { requestId: '7' }, {}, { requestId: { id: 7 } }]) {
      expect((await session.post(notice(params))).status).to.equal(202)
    }
    await other.post(notice({ requestId: 7 }))
    answer(question)
    expect((await reading).json.result.contents[0].text).to.equal('here')
  })

  it('passes over one that comes too late, and its id can be used again', async () => {
    const early = session.post(read(7))
    answer(await untilAsked(1))
    await early
    expect((await session.post(notice({ requestId: 7 }))).status).to.equal(202)
    const again = session.post(read(7))
    const question = await untilAsked(2)
    await session.post(notice({ requestId: 7 }))
    expect((await again).text).to.equal('')
    expect(await cancelled()).to.deep.equal([question])
  })

  it('takes its request out of a batch, also from a batch of its own', async () => {
    const old = await RawSession.open(url, '2025-03-26')
    const batch = old.post(`[${read(1)},${rpc('ping', {}, 2)}]`)
    await untilAsked(1)
    await old.post(`[${notice({ requestId: 1 })}]`)
    expect((await batch).json).to.deep.equal([{ jsonrpc: '2.0', id: 2, result: {} }])
    const alone = old.post(`[${read(1)}]`)
    await untilAsked(2)
    await old.post(notice({ requestId: 1 }))
    expect(await alone).to.deep.include({ status: 200, text: '' })
    expect(await cancelled()).to.have.length(2)
  })
})
