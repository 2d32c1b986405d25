import { expect } from 'chai'
import { silentLogger } from '../../../src/lib/util/logger.ts'
import type { Content } from '../../../src/server/resources/producer.ts'
import {
  ask,
  initializeBody,
  postHeaders,
  RawSession,
  rpc,
  startServer,
  type TestServer,
} from '../../helpers/mcp.ts'

/** What the official SDK answers in the same way is in `test/oracle`. */
describe('the session endpoint', () => {
  let running: TestServer
  let session: RawSession
  const errors: object[] = []
  const slow = Promise.withResolvers<readonly Content[]>()

  before(async () => {
    const limits = { maxSubscriptions: 1 }
    const log = { ...silentLogger, error: (fields: object) => void errors.push(fields) }
    running = await startServer({ limits }, { log }, server =>
      server.resources().addProducer({ scheme: 'slow', list: () => [], read: () => slow.promise }),
    )
    session = await RawSession.open(running.url)
  })

  const post = (body: string | Buffer, headers: Record<string, string> = {}) =>
    ask(running.url, { method: 'POST', headers: { ...postHeaders, ...headers }, body })

  it('names itself, and has completions where the revision has them', async () => {
    for (const revision of ['2024-11-05', '2025-03-26']) {
      const { json } = await post(initializeBody(revision))
      const { serverInfo, capabilities } = json.result
      expect(serverInfo).to.include({ name: 'service-cli' }).and.to.have.property('version')
      expect('completions' in capabilities, revision).to.equal(revision !== '2024-11-05')
    }
  })

  it('takes a body that is not encoded, and returns 415 to another one', async () => {
    for (const coding of ['identity', 'Identity', '']) {
      const answer = await session.post(rpc('ping'), { 'Content-Encoding': coding })
      expect(answer.json, coding).to.have.property('result')
    }
    for (const coding of ['gzip', 'identity, gzip']) {
      const answer = await session.post(rpc('ping'), { 'Content-Encoding': coding })
      expect([answer.status, answer.json.error.code], coding).to.deep.equal([415, -32000])
      expect(answer.json.error.message).to.match(/Content-Encoding/)
      expect(answer.headers['accept-encoding']).to.equal('identity')
    }
  })

  it('returns the id of half a surrogate pair as it was sent', async () => {
    for (const method of ['ping', 'none']) {
      const { text } = await session.post(`{"jsonrpc":"2.0","id":"\\udc80","method":"${method}"}`)
      expect(JSON.parse(text)).to.include({ id: '\udc80' })
    }
  })

  it('answers a batch of 2025-03-26 with one array, notifications without an answer', async () => {
    const old = await RawSession.open(running.url, '2025-03-26')
    const notification = '{"jsonrpc":"2.0","method":"notifications/x"}'
    const mixed = await old.post(
      `[${rpc('ping', undefined, 1)},${notification},${rpc('nope', {}, 'b')},7,{"jsonrpc":"2.0","id":9}]`,
    )
    expect(mixed.json.map((each: any) => [each.id, each.error?.code])).to.deep.equal([
      [1, undefined],
      ['b', -32601],
      [null, -32600],
      [9, -32600],
    ])
    const silent = await old.post(`[${notification}]`)
    expect([silent.status, silent.text]).to.deep.equal([202, ''])
    expect((await old.post(`[${initializeBody()}]`)).json.error.code).to.equal(-32600)
    expect((await old.post(`[${Array(101).fill(notification).join()}]`)).status).to.equal(400)
  })

  it('sends the answers of a batch as they come, so that many large ones are never held', async () => {
    const { headers } = await RawSession.open(running.url, '2025-03-26')
    const body = `[${rpc('ping', undefined, 1)},${rpc('resources/read', { uri: 'slow://a' }, 2)}]`
    const response = await fetch(running.url, { method: 'POST', headers, body })
    const text = response.body!.pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]()
    let received = (await text.next()).value ?? ''
    expect(received).to.include('"id":1').and.not.include('"id":2')
    slow.resolve([{ uri: 'slow://a', text: 'x' }])
    for await (const piece of text) received += piece
    expect(JSON.parse(received).map((each: any) => each.id)).to.deep.equal([1, 2])
  })

  it('says when a client has reached a limit of its own, and the error log does not', async () => {
    const own = await RawSession.open(running.url)
    await own.call('resources/subscribe', { uri: 'scene://current' })
    const { error } = await own.call('resources/subscribe', { uri: 'scene://delta' })
    expect(error).to.deep.include({ code: -32603, data: { reason: 'subscription_limit' } })
    expect(errors).to.deep.equal([])
  })
})
