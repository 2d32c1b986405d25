import { expect } from 'chai'
import {
  initializeBody,
  RawSession,
  rpc,
  startServer,
  type TestServer,
} from '../../../helpers/mcp.ts'

describe('batches of 2025-03-26', () => {
  let running: TestServer
  let old: RawSession
  before(async () => {
    running = await startServer()
    old = await RawSession.open(running.url, '2025-03-26')
  })
  after(() => running.stop())

  it('are answered with one array, notifications without an answer', async () => {
    const { status, json } = await old.post(
      `[${rpc('ping', undefined, 1)},{"jsonrpc":"2.0","method":"notifications/x"},${rpc('nope', {}, 'b')},7]`,
    )
    expect(status).to.equal(200)
    expect(json.map((each: any) => [each.id, each.error?.code])).to.deep.equal([
      [1, undefined],
      ['b', -32601],
      [null, -32600],
    ])
  })

  it('of notifications only are 202', async () => {
    const { status, text } = await old.post('[{"jsonrpc":"2.0","method":"notifications/x"}]')
    expect([status, text]).to.deep.equal([202, ''])
  })

  it('must not hold initialize', async () => {
    const { status, json } = await old.post(`[${initializeBody()}]`)
    expect(status).to.equal(400)
    expect(json.error.code).to.equal(-32600)
  })

  it('are bounded', async () => {
    const { status } = await old.post(
      JSON.stringify(Array(101).fill({ jsonrpc: '2.0', method: 'x' })),
    )
    expect(status).to.equal(400)
  })
})
