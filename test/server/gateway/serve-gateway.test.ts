import { expect } from 'chai'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { until } from '../../helpers/until.ts'
import { freePort } from '../../helpers/free-port.ts'
import { gatewayForms } from '../../helpers/gateway-forms.ts'
import { ask, RawSession } from '../../helpers/mcp.ts'
import { baseOf, createMemoryLog, keyed, useGateways } from './gateways.ts'

describe('the gateway of serve', () => {
  const { files, serve, stop } = useGateways()

  for (const { form, aggregate } of gatewayForms) {
    it(`serves on its own port with its own sessions, ${form}`, () => expectOwnSessions(aggregate))
  }

  async function expectOwnSessions(aggregate: boolean): Promise<void> {
    const port = await freePort()
    const instance = await serve({ gateway: { port, aggregate } })
    const url = `http://127.0.0.1:${port}/mcp`
    await until(() => isReady(url), 'the gateway listens')
    const session = await RawSession.open(url)
    const { instances } = await session.readJson('gateway://instances')
    expect(instances[0]).to.include({ instance_id: instance.instanceId })
    const elsewhere = { ...session.headers }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })
    const foreign = await ask(instance.url, { method: 'POST', headers: elsewhere, body })
    expect(foreign.status).to.equal(404)
    const { resources } = (await session.call('resources/list')).result
    expect(resources).to.have.length(5)
    const uri = `instance://${instance.instanceId}/scene/current`
    const { error } = await session.call('resources/read', { uri })
    expect(error === undefined).to.equal(aggregate)
    await stop(instance)
    expect(await isReady(url)).to.equal(false)
    expect(await files()).to.deep.equal(['instances'])
  }

  it('requires the key of the server', async () => {
    const port = await freePort()
    await serve({ gateway: { port }, auth: keyed })
    const url = `http://127.0.0.1:${port}/mcp`
    await until(() => isReady(url), 'the gateway listens')
    expect((await ask(url, { method: 'POST' })).status).to.equal(401)
  })

  it('stands by while another gateway is active and takes over', async () => {
    const port = await freePort()
    const first = await serve({ gateway: { port } })
    const url = `http://127.0.0.1:${port}/mcp`
    await until(() => isReady(url), 'the gateway listens')
    const log = createMemoryLog()
    const second = await serve({ gateway: { port }, log })
    await until(() => log.lines.some(({ event }) => event === 'contention'), 'it stands by')
    await stop(first)
    await until(() => log.lines.some(({ event }) => event === 'takeover'), 'it takes over')
    const session = await RawSession.open(url)
    const { instances } = await session.readJson('gateway://instances')
    expect(instances.map((row: any) => row.instance_id)).to.deep.equal([second.instanceId])
  })

  it('leaves serve running when the port is taken', async () => {
    const stranger = createServer((_req, res) => res.end('hello')).listen(0, '127.0.0.1')
    await once(stranger, 'listening')
    const address = stranger.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    const log = createMemoryLog()
    try {
      const instance = await serve({ gateway: { port }, log })
      await until(() => log.lines.some(({ event }) => event === 'port_taken'), 'it is logged')
      expect((await ask(`${baseOf(instance)}/readyz`)).status).to.equal(200)
    } finally {
      stranger.closeAllConnections()
      stranger.close()
    }
  })
})

async function isReady(url: string): Promise<boolean> {
  const answer = await ask(url.replace(/mcp$/, 'readyz')).catch(() => null)
  return answer?.status === 200
}
