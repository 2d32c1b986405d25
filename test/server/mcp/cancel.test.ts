import { expect } from 'chai'
import { silentLogger } from '../../../src/lib/util/logger.ts'
import { AppRequests } from '../../../src/server/host/link/app-requests.ts'
import { LinkedProducers } from '../../../src/server/host/link/linked-producers.ts'
import { RawSession, rpc, startServer, type TestServer } from '../../helpers/mcp.ts'
import { ManualTime } from '../../unit/resources/manual-time.ts'
import { boundsWith } from '../../helpers/bounds.ts'

const limits = boundsWith()
const uri = 'app://Cube'

const read = (id: unknown, of = uri) => rpc('resources/read', { uri: of }, id)
const notice = (params: unknown) =>
  JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params })

describe('notifications/cancelled in a session', () => {
  let server: TestServer
  let session: RawSession
  /** Ids of what the application was asked for, and of what it was told to give up. */
  let asked: string[]
  let cancelled: string[]
  /** Reads that wait for the application, or did. */
  let reads: number
  let requests: AppRequests
  let producers: LinkedProducers

  before(async () => {
    server = await startServer({ limits })
  })
  after(() => server.stop())
  beforeEach(async () => {
    asked = []
    cancelled = []
    reads = 0
    const parts = { timer: new ManualTime(), limits, log: silentLogger }
    producers = new LinkedProducers({ ...parts, registry: server.server.resources() })
    requests = new AppRequests({
      ...parts,
      send(message) {
        if (message.type === 'read') asked.push(message.id)
        if (message.type === 'cancel') cancelled.push(message.id)
        return true
      },
      lateReason: () => 'host_timeout',
    })
    producers.connected({
      read: (of, signal) => {
        reads++
        return requests.read(of, signal)
      },
      list: scheme => requests.list(scheme),
    })
    producers.register('app', [], [{ uriTemplate: 'app://{name}', name: 'One' }])
    session = await RawSession.open(server.url)
  })
  afterEach(() => producers.forget())

  const untilAsked = async (count: number) => {
    while (asked.length < count) await new Promise(setImmediate)
    return asked[count - 1] ?? ''
  }
  const untilReads = async (count: number) => {
    while (reads < count) await new Promise(setImmediate)
  }
  const answer = (id: string, of = uri) =>
    requests.settle({ type: 'ok', id, contents: [{ uri: of, text: 'here' }] })

  for (const id of [7, 'seven']) {
    it(`stops the read with the id ${JSON.stringify(id)}, whose POST ends without an answer`, async () => {
      const reading = session.post(read(id))
      const question = await untilAsked(1)
      const { status } = await session.post(notice({ requestId: id, reason: 'changed my mind' }))
      expect(status).to.equal(202)
      const ended = await reading
      expect(cancelled).to.deep.equal([question])
      expect(ended).to.deep.include({ status: 200, text: '' })
      expect(ended.headers['content-type']).to.equal('text/event-stream')
    })
  }

  it('keeps other reads of the same resource', async () => {
    const first = session.post(read(1))
    const question = await untilAsked(1)
    const second = session.post(read(2))
    await untilReads(2)
    await session.post(notice({ requestId: 1 }))
    expect((await first).text).to.equal('')
    expect(cancelled).to.deep.equal([])
    answer(question)
    expect((await second).json)
      .to.deep.include({ id: 2 })
      .and.to.have.property('result')
  })

  it('passes over an id that is unknown, of another type or session, missing or malformed', async () => {
    const other = await RawSession.open(server.url)
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
    expect(cancelled).to.deep.equal([question])
  })

  it('takes its request out of a batch, also from a batch of its own', async () => {
    const old = await RawSession.open(server.url, '2025-03-26')
    const batch = old.post(`[${read(1)},${rpc('ping', {}, 2)}]`)
    await untilAsked(1)
    await old.post(`[${notice({ requestId: 1 })}]`)
    expect((await batch).json).to.deep.equal([{ jsonrpc: '2.0', id: 2, result: {} }])
    const alone = old.post(`[${read(1)}]`)
    await untilAsked(2)
    await old.post(notice({ requestId: 1 }))
    expect(await alone).to.deep.include({ status: 200, text: '' })
    expect(cancelled).to.have.length(2)
  })
})
