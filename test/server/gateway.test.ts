import { expect } from 'chai'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { AccessEntry } from '../../src/lib/util/logger.ts'
import { until } from '../helpers/until.ts'
import { freePort } from '../helpers/free-port.ts'
import { gatewayForms } from '../helpers/gateway-forms.ts'
import { ask, RawSession } from '../helpers/mcp.ts'
import { baseOf, createMemoryLog, keyed, useGateways } from './gateway/gateways.ts'

const identityPath = '/gateway/v1/resident'

describe('startGateway', () => {
  const { stateDir, files, start, serve, stop } = useGateways()

  // The other cases come before a gateway knows what it serves, or do not depend on it.
  for (const { form, aggregate } of gatewayForms) {
    it(`serves the instances and describes itself by path and file, ${form}`, () =>
      expectInstances(aggregate))
    it(`logs voluntary_yield when it stops and leaves no file behind, ${form}`, () =>
      expectYield(aggregate))
  }

  async function expectInstances(aggregate: boolean): Promise<void> {
    const instance = await serve({})
    const gateway = await start({ aggregate })
    const session = await RawSession.open(gateway.url)
    const { instances } = await session.readJson('gateway://instances')
    expect(instances).to.have.length(1)
    expect(instances[0]).to.include({ instance_id: instance.instanceId, mcp_url: instance.url })

    const { status, json } = await ask(`${baseOf(gateway)}${identityPath}`)
    expect(status).to.equal(200)
    const { instanceId: instance_id, url, port } = gateway
    expect(json).to.include({ service: 'service-cli', role: 'gateway', instance_id, url })
    expect(json.pid).to.equal(process.pid)
    const file = join(stateDir(), `gateway-${port}.json`)
    expect(JSON.parse(await readFile(file, 'utf8'))).to.deep.equal(json)
    expect((await stat(file)).mode & 0o777).to.equal(0o600)
    expect(JSON.stringify(json)).not.to.contain(stateDir())
    expect((await ask(`${baseOf(gateway)}/readyz`)).json).to.deep.equal({ status: 'ready' })
  }

  async function expectYield(aggregate: boolean): Promise<void> {
    const log = createMemoryLog()
    const gateway = await start({ log, aggregate })
    await gateway.stop()
    await gateway.closed
    expect(await files()).to.deep.equal(['instances'])
    const events = log.lines.map(({ event }) => event).filter(event => event !== undefined)
    expect(events).to.deep.equal(['election_won', 'voluntary_yield'])
  }

  it('identifies itself without a key, never to web pages, and logs no access', async () => {
    const entries: AccessEntry[] = []
    const accessLog = (entry: AccessEntry) => void entries.push(entry)
    const gateway = await start({ auth: keyed, accessLog })
    const url = `${baseOf(gateway)}${identityPath}`
    expect((await ask(url)).status).to.equal(200)
    expect((await ask(url, { method: 'POST' })).status).to.equal(405)
    expect((await ask(url, { headers: { Host: 'evil.example' } })).status).to.equal(403)
    expect((await ask(url, { headers: { Origin: 'https://evil.example' } })).status).to.equal(403)
    expect((await ask(gateway.url, { method: 'POST' })).status).to.equal(401)
    await until(() => entries.some(({ path }) => path === '/mcp'), 'the request to /mcp is logged')
    const logged = entries.filter(({ status }) => status === 200)
    expect(logged).to.deep.equal([])
  })

  it('identifies only gateways: an instance returns 404', async () => {
    const { url } = await serve({})
    expect((await ask(`${baseOf({ url })}${identityPath}`)).status).to.equal(404)
  })

  it('rejects an invalid catalog before it stands by', async () => {
    const catalog = join(stateDir(), 'catalog.json')
    await writeFile(catalog, 'no catalog')
    const port = await freePort()
    await start({ port })
    const error = await start({ port, catalog }).catch((cause: unknown) => cause)
    expect(error).to.include({ code: 'config_invalid' })
  })

  it('stands by until it is cancelled and leaves no file behind', async () => {
    const first = await start({ port: await freePort() })
    const before = await files()
    const cancel = new AbortController()
    const said = Promise.withResolvers<string>()
    const waiting = start(
      { port: first.port, onElection: ({ event }) => said.resolve(event) },
      cancel.signal,
    ).catch((error: unknown) => error)
    expect(await said.promise).to.equal('standby')
    const reason = new Error('cancelled')
    cancel.abort(reason)
    expect(await waiting).to.equal(reason)
    expect(await files()).to.deep.equal(before)
    expect((await ask(`${baseOf(first)}/readyz`)).status).to.equal(200)
  })

  it('rejects a start that is already cancelled and binds no port', async () => {
    const cancel = new AbortController()
    cancel.abort(new Error('cancelled'))
    const port = await freePort()
    const error = await start({ port }, cancel.signal).catch((cause: unknown) => cause)
    expect(error).to.include({ message: 'cancelled' })
    await ask(`http://127.0.0.1:${port}/readyz`).then(
      () => expect.fail('somebody listens'),
      () => {},
    )
  })

  it('lists contention and takeover in its events', async () => {
    const first = await start({ port: await freePort() })
    const said = Promise.withResolvers<string>()
    const second = start({ port: first.port, onElection: ({ event }) => said.resolve(event) })
    await said.promise
    await stop(first)
    const session = await RawSession.open((await second).url)
    const { result } = await session.call('resources/read', { uri: 'resources://gateway/events' })
    const events = result.contents[0].text
      .trim()
      .split('\n')
      .map((line: string) => JSON.parse(line))
    expect(events.map(({ event }: any) => event)).to.deep.equal(['contention', 'takeover'])
    expect(events[1].reason).to.contain('yielded')
  })
})
