import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { type AccessEntry, silentLogger } from '../../../src/lib/util/logger.ts'
import { startGateway } from '../../../src/server/gateway.ts'
import { identityPath } from '../../../src/server/gateway/active-gateway.ts'
import { startAccountsServer } from '../../../src/server/accounts-server.ts'
import type { ServeHandle } from '../../../src/server/host/serve-options.ts'
import { startServe } from '../../../src/server/serve.ts'
import { until } from '../../helpers/until.ts'
import { ask, initializeBody, postHeaders, RawSession } from '../../helpers/mcp.ts'

const forged = { 'X-Forwarded-For': '203.0.113.7' }
const everyForm = {
  ...forged,
  'X-Real-IP': '203.0.113.8',
  Forwarded: 'for=203.0.113.9',
  Via: '1.1 proxy',
}

describe('the address of a client', () => {
  let folder: string
  let entries: AccessEntry[]
  let stop: (() => Promise<void>)[]

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'forwarded-'))
    entries = []
    stop = []
  })
  afterEach(async () => {
    for (const end of stop) await end()
    await rm(folder, { recursive: true, force: true })
  })

  const common = () => ({
    port: 0,
    host: '127.0.0.1',
    allowedHosts: [],
    allowedOrigins: [],
    log: silentLogger,
    accessLog: (entry: AccessEntry) => void entries.push(entry),
  })

  async function serve(trustedProxies: string[]): Promise<ServeHandle> {
    const facts = { dccType: 'unknown', artefacts: false, resources: true }
    const handle = await startServe({ ...common(), ...facts, registryDir: folder, trustedProxies })
    stop.push(() => handle.stop())
    return handle
  }

  async function hostToken({ hostTokenFile }: ServeHandle): Promise<string> {
    return (await readFile(hostTokenFile ?? '', 'utf8')).trim()
  }

  const cases: [why: string, trusted: string[], headers: Record<string, string>, peer: string][] = [
    [
      'that of the connection, whatever it claims, when nobody is trusted',
      [],
      everyForm,
      '127.0.0.1',
    ],
    ['that of the connection when others are trusted', ['10.0.0.0/8'], everyForm, '127.0.0.1'],
    ['what a trusted proxy says', ['127.0.0.0/8'], everyForm, '203.0.113.7'],
    [
      'the last that a trusted proxy says, not what the client forged before it',
      ['127.0.0.1'],
      { 'X-Forwarded-For': '6.6.6.6, 203.0.113.7' },
      '203.0.113.7',
    ],
    [
      'that of a trusted proxy that names no client',
      ['127.0.0.1'],
      { Forwarded: 'for=203.0.113.9', 'X-Real-IP': '203.0.113.8' },
      '127.0.0.1',
    ],
  ]
  for (const [what, trusted, headers, peer] of cases) {
    it(`is ${what}: in the access log, and in the audit`, async () => {
      const { url } = await serve(trusted)
      const refused = { ...postHeaders, ...headers, Origin: 'https://evil.example' }
      const init = { method: 'POST', headers: refused, body: initializeBody() }
      expect((await ask(url, init)).status).to.equal(403)
      const session = await RawSession.open(url)
      const { entries: audited } = await session.readJson('audit://recent')
      expect(audited.map(({ actor }: { actor: string }) => actor)).to.deep.equal([peer])
      await until(() => entries.some(({ status }) => status === 403), 'the access log')
      expect(entries.find(({ status }) => status === 403)?.peer).to.equal(peer)
    })
  }

  it('is what the limits of the registry count, with a trusted proxy and without', async () => {
    for (const [trustedProxies, last] of [
      [[], 429],
      [['127.0.0.1'], 401],
    ] as const) {
      const registry = await startAccountsServer({
        ...common(),
        dataDir: join(folder, `data-${last}`),
        trustedProxies,
        limits: { maxLoginFailures: 2 },
      })
      stop.push(() => registry.stop())
      const login = async (user: string, address: string) => {
        const headers = { 'Content-Type': 'application/json', 'X-Forwarded-For': address }
        const body = JSON.stringify({ username: user, password: 'wrong password' })
        return (await ask(`${registry.url}/api/v1/auth/login`, { method: 'POST', headers, body }))
          .status
      }
      for (let at = 0; at < 2; at++) await login('ada', '203.0.113.7')
      expect(await login('ada', '198.51.100.1')).to.equal(last)
    }
  })

  describe('of a request to /host', () => {
    for (const [name, value] of Object.entries({
      ...everyForm,
      'X-Forwarded-Host': 'studio.example',
      'X-Forwarded-Proto': 'https',
    })) {
      for (const trusted of [[], ['127.0.0.1']]) {
        const whom = trusted.length === 0 ? 'nobody is' : 'the proxy is'
        it(`is not believed to be of this machine with ${name}, when ${whom} trusted`, async () => {
          const handle = await serve(trusted)
          const authorization = { Authorization: `Bearer ${await hostToken(handle)}` }
          const init = { method: 'POST', body: '{}' }
          const json = { ...authorization, 'Content-Type': 'application/json' }
          const straight = await ask(`${handle.hostUrl}/v1/scene`, { ...init, headers: json })
          expect(straight.status).to.equal(200)
          const over = { ...json, [name]: value }
          const { status, json: problem } = await ask(`${handle.hostUrl}/v1/scene`, {
            ...init,
            headers: over,
          })
          expect(status).to.equal(403)
          expect(problem.detail).to.include(name.toLowerCase())
          expect(await upgrade(handle, { ...authorization, [name]: value })).to.match(/ 403 /)
          expect(await upgrade(handle, authorization)).to.match(/ 101 /)
        })
      }
    }
  })

  it('of a request for the gateway itself is not of this machine over a proxy', async () => {
    const rules = { standby: false }
    const gateway = await startGateway({ ...common(), ...rules, registryDir: folder })
    stop.push(() => gateway.stop())
    const url = new URL(identityPath, gateway.url).href
    expect((await ask(url)).status).to.equal(200)
    expect((await ask(url, { headers: forged })).status).to.equal(404)
  })
})

/** The status line that an upgrade to the host link gets. */
async function upgrade({ hostUrl }: ServeHandle, headers: Record<string, string>): Promise<string> {
  const { port, host } = new URL(hostUrl)
  const socket = connect(Number(port), '127.0.0.1')
  const all = {
    Host: host,
    Upgrade: 'websocket',
    Connection: 'Upgrade',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
    'Sec-WebSocket-Protocol': 'dcc-host.v1',
    ...headers,
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`GET /host HTTP/1.1\r\n${lines.join('')}\r\n`)
  const [bytes] = (await once(socket, 'data')) as [Buffer]
  socket.destroy()
  return bytes.toString().split('\r\n', 1)[0] ?? ''
}
