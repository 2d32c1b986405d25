import { expect } from 'chai'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, request, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { judgeClock, judgeReady, judgeTls } from '../../src/commands/doctor/check-way.ts'
import { createCaller, quickLimits } from '../helpers/accounts-caller.ts'
import type { RunningAccounts } from '../helpers/accounts-process.ts'
import { makePair, writePair } from '../helpers/certificate.ts'
import { freePort } from '../helpers/free-port.ts'
import type { RunningGateway } from '../helpers/gateway-process.ts'
import { runCommand } from '../helpers/in-process.ts'
import { ask } from '../helpers/mcp.ts'
import { cleanEnv, runProgram } from '../helpers/program.ts'
import { statelessHeaders, statelessRequest } from '../helpers/stateless.ts'
import { accountsInProcess, gatewayInProcess } from '../helpers/in-process-servers.ts'

describe('doctor --gateway', () => {
  const key = 'the-key-of-the-gateway'
  let folder: string
  let certFile: string
  let accounts: RunningAccounts
  let gateways: RunningGateway[]
  /** With TLS and a key. */
  let secure: string
  /** With a key alone. */
  let keyed: string
  /** With neither. */
  let plainPort: number
  let token: string
  let unscoped: string
  const proxies: Server[] = []

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'doctor-gateway-'))
    accounts = await accountsInProcess({ flags: quickLimits })
    const caller = createCaller(accounts.url)
    const { access_token: access } = await caller.register('ada')
    const scoped = { name: 'ada-ws', scopes: ['instance'] }
    token = (await caller.call('POST', '/tokens', access, scoped)).json.token
    const other = { name: 'ci', scopes: ['publish'] }
    unscoped = (await caller.call('POST', '/tokens', access, other)).json.token
    const pair = await writePair(folder, makePair())
    certFile = pair.certFile
    const keyFile = join(folder, 'gateway.key')
    await writeFile(keyFile, key, { mode: 0o600 })
    const tls = ['--tls-cert', certFile, '--tls-key', pair.keyFile, '--api-key-file', keyFile]
    const forms = [tls, ['--api-key-file', keyFile], ['--auth', 'none']]
    gateways = forms.map((form, at) =>
      gatewayInProcess({
        port: 0,
        registryDir: join(folder, String(at)),
        flags: ['--aggregate', '--accept-joins', accounts.url, ...form],
      }),
    )
    const said = await Promise.all(gateways.map(gateway => gateway.line('listening')))
    const [one, two, three] = said.map(({ url }) => new URL(url))
    secure = `https://localhost:${one?.port}`
    keyed = two?.origin ?? ''
    plainPort = Number(three?.port)
  })
  afterEach(() => {
    for (const proxy of proxies.splice(0)) {
      proxy.closeAllConnections()
      proxy.close()
    }
  })
  after(async () => {
    await Promise.all((gateways ?? []).map(gateway => gateway.stop()))
    await accounts?.stop()
    await rm(folder, { recursive: true, force: true })
  })

  async function doctor(url: string, env: Record<string, string> = {}, run = runCommand) {
    const args = ['doctor', '--gateway', url, '--json']
    const { code, stdout, stderr } = await run(args, { env: cleanEnv({ HOME: folder, ...env }) })
    expect(stdout + stderr).not.to.contain(key)
    expect(stdout + stderr).not.to.contain(token)
    const checks: { check: string; status: string; summary: string; hint: string | null }[] =
      JSON.parse(stdout).checks
    return { code, of: (name: string) => checks.find(({ check }) => check === name), checks }
  }

  it('finds the whole way in order, with key and token, and joins nothing', async () => {
    const env = { SERVICE_MCP_API_KEY: key, SERVICE_JOIN_TOKEN: token }
    // Node reads this variable when a process starts.
    const trusting = { ...env, NODE_EXTRA_CA_CERTS: certFile }
    const { code, checks, of } = await doctor(secure, trusting, runProgram)
    expect(code).to.equal(0)
    expect(checks.map(({ check, status }) => [check, status])).to.deep.equal([
      ['gateway_address', 'ok'],
      ['gateway_tls', 'warn'],
      ['gateway_ready', 'ok'],
      ['gateway_clock', 'ok'],
      ['gateway_client', 'ok'],
      ['gateway_join', 'ok'],
    ])
    expect(of('gateway_tls')?.summary).to.contain('TLSv1.3').and.contain('valid for')
    expect(of('gateway_client')?.summary).to.contain('accepts SERVICE_MCP_API_KEY')
    expect(of('gateway_join')?.summary).to.contain('the link carries data')
    const [method, params] = ['resources/read', { uri: 'gateway://instances' }]
    const { json } = await ask(`${secure}/mcp`, {
      method: 'POST',
      ca: await readFile(certFile, 'utf8'),
      headers: { ...statelessHeaders(method, params), Authorization: `Bearer ${key}` },
      body: JSON.stringify(statelessRequest(method, params)),
    })
    expect(JSON.parse(json.result.contents[0].text).instances).to.deep.equal([])
  })

  it('tells a certificate, a key and a token that are not accepted, and a wrong port', async () => {
    const untrusted = await doctor(secure)
    expect([untrusted.code, untrusted.checks.length]).to.deep.equal([1, 1])
    expect(untrusted.of('gateway_tls')?.hint).to.contain('NODE_EXTRA_CA_CERTS')

    const env = { SERVICE_MCP_API_KEY: 'another-key', SERVICE_JOIN_TOKEN: 'svc_of-nobody-at-all' }
    const refused = await doctor(keyed, env)
    expect(refused.code).to.equal(1)
    expect(refused.of('gateway_client')?.summary).to.contain('refuses the key')
    expect(refused.of('gateway_join')?.summary).to.match(/cannot be joined: .*HTTP 401/)
    const publishes = await doctor(keyed, { SERVICE_JOIN_TOKEN: unscoped })
    const join = publishes.of('gateway_join')
    expect(join?.summary).to.contain('does not have the scope "instance"')
    expect(join?.hint).to.match(/token create NAME --scope instance/)
    expect(join?.hint).not.to.contain('WebSocket')

    const none = await doctor(keyed)
    expect(none.code).to.equal(0)
    expect(none.of('gateway_client')?.summary).to.contain('requires a key')
    expect(none.of('gateway_join')?.summary).to.contain('was not tested')

    const closed = await doctor(`http://127.0.0.1:${await freePort()}`)
    expect(closed.of('gateway_address')?.summary).to.contain('connection refused')
  })

  /** Passes on what is no upgrade; of event streams the head alone when it `holds` them. */
  async function startProxy(link: 'swallowed' | 'cut' | 'refused', holds = false) {
    const proxy = createServer({ keepAlive: false }, (req, res) => {
      const { method, url: path, headers } = req
      const passed = request(
        { port: plainPort, method, path, headers: { ...headers, host: `127.0.0.1:${plainPort}` } },
        answer => {
          res.writeHead(answer.statusCode ?? 0, { ...answer.headers, server: 'a-proxy/1.0' })
          const isStream = answer.headers['content-type']?.startsWith('text/event-stream')
          if (holds && isStream) res.flushHeaders()
          else answer.pipe(res)
        },
      )
      req.pipe(passed)
    })
    proxy.on('upgrade', (req, socket) => {
      if (link === 'refused') return void socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')
      const passed = connect(plainPort, '127.0.0.1')
      const lines = Object.entries({ ...req.headers, host: `127.0.0.1:${plainPort}` })
      const head = lines.map(([name, value]) => `${name}: ${String(value)}\r\n`).join('')
      passed.write(`GET ${req.url} HTTP/1.1\r\n${head}\r\n`)
      passed.once('data', bytes => {
        socket.write(bytes.subarray(0, bytes.indexOf('\r\n\r\n') + 4))
        passed.resume()
        if (link === 'cut') setImmediate(() => socket.destroy())
      })
      for (const end of [passed, socket]) end.on('error', () => {})
      socket.on('close', () => passed.destroy())
      passed.on('close', () => socket.destroy())
    })
    proxy.listen(0, '127.0.0.1')
    await once(proxy, 'listening')
    proxies.push(proxy)
    return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
  }

  it('finds a proxy that holds event streams back, or what links carry', async function () {
    this.timeout(60_000)
    const { code, of } = await doctor(await startProxy('swallowed', true), {
      SERVICE_JOIN_TOKEN: token,
    })
    expect(code).to.equal(1)
    expect(of('gateway_ready')).to.deep.include({
      status: 'ok',
      details: ['a proxy is in between: a-proxy/1.0'],
    })
    expect(of('gateway_client')?.status).to.equal('fail')
    expect(of('gateway_client')?.hint).to.contain('may hold event streams back')
    expect(of('gateway_join')?.summary).to.contain('opens, but nothing comes through it')
  })

  it('finds a proxy that cuts WebSockets, or refuses them', async () => {
    const env = { SERVICE_JOIN_TOKEN: token }
    const cut = await doctor(await startProxy('cut'), env)
    expect(cut.of('gateway_client')?.status).to.equal('ok')
    expect(cut.of('gateway_join')?.summary).to.contain('opens, and is cut')
    const refused = await doctor(await startProxy('refused'), env)
    expect(refused.of('gateway_join')?.summary).to.contain('HTTP 400')
    expect(refused.of('gateway_join')?.hint).to.contain('pass WebSockets')
  })

  it('judges readiness, clocks and certificates', () => {
    const ready = (body: object, status = 200) =>
      judgeReady({ status, headers: {}, body: JSON.stringify(body), ...unused })
    expect(ready({ status: 'starting' }, 503).summary).to.contain('it is starting')
    expect(ready({ status: 'ok' }).summary).to.contain('another program')
    const database = { state: 'away', reason: 'connection refused (ECONNREFUSED)' }
    const away = ready({ status: 'ready', artefacts: { bucket: { state: 'connected' }, database } })
    expect([away.status, away.details]).to.deep.equal([
      'warn',
      ['artefacts database does not answer: connection refused (ECONNREFUSED)'],
    ])
    const gateway = ready({ status: 'ready', database: { state: 'away', since: '2026-11-25' } })
    expect(gateway.details).to.deep.equal(['database does not answer'])
    expect(ready({ status: 'ready', database: { state: 'connected' } }).status).to.equal('ok')
    const at = (date: string, nowMs: number) =>
      judgeClock({ headers: { date }, askedMs: nowMs, answeredMs: nowMs })
    const date = 'Wed, 25 Nov 2026 12:00:00 GMT'
    expect(at(date, Date.parse(date) + 29_000).status).to.equal('ok')
    expect(at(date, Date.parse(date) - 60_000).summary).to.contain('is 61 s ahead of')
    expect(at(date, Date.parse(date) + 60_000).summary).to.match(/is (59|60) s behind/)
    const days = (count: number) =>
      judgeTls({ answeredMs: 0, tls: { protocol: 'TLSv1.3', untilMs: count * 24 * 3600_000 } })
    expect([days(15).status, days(13).status]).to.deep.equal(['ok', 'warn'])
  })

  const unused = { address: '', tls: null, askedMs: 0, answeredMs: 0 }
})
