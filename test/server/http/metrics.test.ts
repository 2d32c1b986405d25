import { expect } from 'chai'
import type { RunningAccounts } from '../../helpers/accounts.ts'
import type { RunningGateway } from '../../helpers/gateway-process.ts'
import { ask, RawSession } from '../../helpers/mcp.ts'
import { callStateless } from '../../helpers/stateless.ts'
import { until } from '../../helpers/until.ts'
import {
  accountsInProcess,
  gatewayInProcess,
  serveInProcess,
} from '../../helpers/in-process-servers.ts'
import type { RunningServe } from '../../helpers/serve-process.ts'
import { newFolder } from '../../helpers/cleanup.ts'

const registryDir = newFolder()

const key = 'a-key-of-24-characters-or-more'

/** The text format of Prometheus: name and labels → value. */
function parse(text: string): Map<string, number> {
  const samples = text.split('\n').flatMap((line): [string, number][] => {
    if (line === '' || /^# (HELP|TYPE) \S+ \S+/.test(line)) return []
    const [, name = '', value] =
      /^([a-z_]+(?:\{[a-z]+="[^"]*"(?:,[a-z]+="[^"]*")*\})?) (\S+)$/.exec(line) ?? []
    expect(Number(value), line).to.be.finite
    return [[name, Number(value)]]
  })
  expect(new Map(samples).size, 'each once').to.equal(samples.length)
  return new Map(samples)
}

describe('/metrics', () => {
  let serve: RunningServe
  let gateway: RunningGateway
  let accounts: RunningAccounts
  const bases: Record<string, string> = {}

  before(async () => {
    serve = await serveInProcess({ registryDir, env: { SERVICE_MCP_API_KEY: key } })
    gateway = gatewayInProcess({ port: 0, registryDir })
    accounts = await accountsInProcess()
    const { url } = await gateway.line('listening')
    Object.assign(bases, {
      serve: serve.base,
      gateway: new URL(url).origin,
      registry: accounts.url,
    })
  })

  const read = async (role: string, headers = {}) => {
    const { status, text } = await ask(`${bases[role]}/metrics`, { method: 'GET', headers })
    expect(status).to.equal(200)
    return parse(text)
  }

  for (const role of ['serve', 'gateway', 'registry']) {
    it(`of ${role} says what it is, counts requests by path and outcome, and names no user`, async () => {
      const name = 'service_cli_requests_total{route="other",status="4xx"}'
      const before = (await read(role)).get(name) ?? 0
      await ask(`${bases[role]}/nothing/of-anna`, { method: 'GET', headers: { Accept: '*/*' } })
      await until(async () => ((await read(role)).get(name) ?? 0) === before + 1, 'the count')
      const { text } = await ask(`${bases[role]}/metrics`, { method: 'GET', headers: {} })
      expect(text).to.not.include('anna').and.not.include(serve.instanceId)
      expect(text).to.match(new RegExp(`^service_cli_info\\{role="${role}",version="\\d`, 'm'))
    })
  }

  it('has sessions, streams, subscriptions and calls of now, and how long calls took', async () => {
    const session = await RawSession.open(serve.url, '2025-11-25', {
      Authorization: `Bearer ${key}`,
    })
    const events = await session.listen()
    await session.call('resources/subscribe', { uri: 'scene://current' })
    await session.call('resources/read', { uri: 'scene://current' })
    const count = 'service_cli_call_seconds_count{method="resources/read"}'
    await until(async () => (await read('serve')).get(count) === 1, 'the read')
    const samples = await read('serve')
    for (const name of ['sessions', 'streams', 'subscriptions']) {
      expect(samples.get(`service_cli_${name}`), name).to.equal(1)
    }
    expect(samples.get('service_cli_call_seconds_sum{method="resources/read"}')).to.be.above(0)
    const waiting = session.call('tools/call', { name: 'wait_for_change', arguments: {} })
    const pending = async () => (await read('serve')).get('service_cli_pending_calls')
    await until(async () => (await pending()) === 1, 'the wait')
    await serve.post('scene', { frame: 1 })
    expect((await waiting).result).to.not.have.property('isError')
    expect(await pending()).to.equal(0)
    events.close()
    await until(async () => (await read('serve')).get('service_cli_streams') === 0, 'the end')
  })

  it('of a gateway has the instances by health', async () => {
    await callStateless(`${bases.gateway}/mcp`, 'resources/list')
    expect((await read('gateway')).get('service_cli_instances{health="live"}')).to.equal(1)
  })

  it('asks for a key when it comes through a proxy', async () => {
    const forwarded = { 'X-Forwarded-For': '203.0.113.9' }
    const url = `${serve.base}/metrics`
    expect((await ask(url, { method: 'GET', headers: forwarded })).status).to.equal(401)
    const known = { ...forwarded, Authorization: `Bearer ${key}` }
    expect((await ask(url, { method: 'GET', headers: known })).status).to.equal(200)
    const registry = await ask(`${bases.registry}/metrics`, { method: 'GET', headers: forwarded })
    expect(registry.status).to.equal(404)
    const rebound = await ask(url, { method: 'GET', headers: { Host: 'evil.example' } })
    expect(rebound.status).to.equal(403)
  })
})
