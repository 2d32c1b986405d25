import { expect } from 'chai'
import {
  ask,
  initializeBody,
  postHeaders,
  RawSession,
  rpc,
  startServer,
  type TestServer,
} from '../../../helpers/mcp.ts'

describe('initialize', () => {
  let running: TestServer
  let session: RawSession

  before(async () => {
    running = await startServer()
    session = await RawSession.open(running.url)
  })
  after(() => running.stop())

  const post = (body: string | Buffer, headers: Record<string, string> = {}) =>
    ask(running.url, { method: 'POST', headers: { ...postHeaders, ...headers }, body })

  const versions: [string, string][] = [
    ['2025-11-25', '2025-11-25'],
    ['2025-06-18', '2025-06-18'],
    ['2025-03-26', '2025-03-26'],
    ['2024-11-05', '2024-11-05'],
    ['2024-10-07', '2025-11-25'],
    ['2026-07-28', '2025-11-25'],
    ['never', '2025-11-25'],
    ['', '2025-11-25'],
  ]
  for (const [asked, answered] of versions) {
    it(`negotiates ${answered} for "${asked}"`, async () => {
      const { status, json, headers } = await post(initializeBody(asked))
      expect(status).to.equal(200)
      expect(json.result.protocolVersion).to.equal(answered)
      expect(json.result.capabilities.resources).to.deep.equal({
        subscribe: true,
        listChanged: true,
      })
      expect(headers['mcp-session-id']).to.match(/^[\x21-\x7e]{22,}$/)
    })
  }

  it('declares completions only where the revision has the capability', async () => {
    const old = await post(initializeBody('2024-11-05'))
    expect(old.json.result.capabilities).not.to.have.property('completions')
    const newer = await post(initializeBody('2025-03-26'))
    expect(newer.json.result.capabilities).to.have.property('completions')
  })

  it('returns name and version of the server', async () => {
    const { json } = await post(initializeBody())
    expect(json.result.serverInfo)
      .to.include({ name: 'service-cli' })
      .and.to.have.property('version')
  })

  it('returns a unique session id', async () => {
    const ids = await Promise.all(
      Array.from(
        { length: 5 },
        async () => (await post(initializeBody())).headers['mcp-session-id'],
      ),
    )
    expect(new Set(ids).size).to.equal(5)
  })

  it('returns 400 for a second initialize in a session', async () => {
    const { status, json } = await session.post(initializeBody())
    expect(status).to.equal(400)
    expect(json.error.code).to.equal(-32600)
  })

  const badParams: [string, unknown][] = [
    ['without a version', {}],
    ['with a numeric version', { protocolVersion: 1 }],
    ['with list capabilities', { protocolVersion: '2025-11-25', capabilities: [] }],
    ['with a text clientInfo', { protocolVersion: '2025-11-25', clientInfo: 'x' }],
  ]
  for (const [name, params] of badParams) {
    it(`returns −32602 ${name} and opens no session`, async () => {
      const { status, json, headers } = await post(rpc('initialize', params))
      expect(status).to.equal(200)
      expect(json.error.code).to.equal(-32602)
      expect(headers).not.to.have.property('mcp-session-id')
    })
  }
})
