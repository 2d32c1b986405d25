import { expect } from 'chai'
import { serveInProcess } from '../../helpers/in-process-servers.ts'
import { initialize, RawSession } from '../../helpers/mcp.ts'
import type { RunningServe } from '../../helpers/serve-process.ts'
import { until } from '../../helpers/until.ts'

const everyForm = {
  'X-Forwarded-For': '203.0.113.7',
  'X-Real-IP': '203.0.113.8',
  Forwarded: 'for=203.0.113.9',
  Via: '1.1 proxy',
}
const trust = ['--trusted-proxy', '127.0.0.1']

describe('the address of a client', () => {
  /** One that trusts nobody, and one that trusts a proxy on this machine. */
  let servers: readonly RunningServe[]

  before(async () => {
    const trusting = [...trust, '--allow-unauthenticated']
    servers = await Promise.all([serveInProcess(), serveInProcess({ flags: trusting })])
  })

  for (const [trusting, peer] of [
    [0, '127.0.0.1'],
    [1, '203.0.113.7'],
  ] as const) {
    it(`is ${peer} in the access log and the audit`, async () => {
      const server = servers[trusting]!
      const before = server.output().stderr.length
      const forwarded = { ...everyForm, 'X-Forwarded-For': '6.6.6.6, 203.0.113.7' }
      const headers = { ...forwarded, Origin: 'https://evil.example' }
      expect((await initialize(server.url, headers)).status).to.equal(403)
      const lines = () => server.output().stderr.slice(before).split('\n')
      const logged = () => lines().find(line => line.includes('"status":403'))
      await until(() => logged() !== undefined, 'the access log')
      expect(JSON.parse(logged() ?? '')).to.include({ peer })
      const session = await RawSession.open(server.url)
      const { entries } = await session.readJson('audit://recent')
      expect(entries.at(-1)).to.include({ actor: peer })
    })
  }

  it('of a request to /host is not of this machine with a header of a proxy', async () => {
    const forwarded = {
      ...everyForm,
      'X-Forwarded-Host': 'studio.example',
      'X-Forwarded-Proto': 'https',
    }
    for (const server of servers) {
      expect((await server.post('scene', {})).status).to.equal(200)
      for (const [name, value] of Object.entries(forwarded)) {
        const { status, json } = await server.post('scene', {}, { [name]: value })
        expect(status, name).to.equal(403)
        expect(json.detail).to.include(name.toLowerCase())
      }
    }
  })
})
