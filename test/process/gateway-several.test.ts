import { expect } from 'chai'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { atEnd, newFolder } from '../helpers/cleanup.ts'
import { type RunningAccounts, createCaller } from '../helpers/accounts.ts'
import { CuttingProxy } from '../helpers/cutting-proxy.ts'
import { freePort } from '../helpers/free-port.ts'
import {
  type GatewayProcess,
  type RunningGateway,
  startGatewayProcess,
} from '../helpers/gateway-process.ts'
import {
  accountsInProcess,
  gatewayInProcess,
  serveInProcess,
} from '../helpers/in-process-servers.ts'
import { RawSession } from '../helpers/mcp.ts'
import type { RunningServe } from '../helpers/serve-process.ts'
import { callStateless } from '../helpers/stateless.ts'
import { until } from '../helpers/until.ts'

const hosts = ['127.0.0.1', '127.0.0.2'] as const
const sceneOf = (x: number) => ({ document: { name: 'shot.blend' }, objects: [{ id: 'Cube', x }] })

describe('an instance that joins two gateways', () => {
  let folder: string
  let accounts: RunningAccounts
  let port: number
  let first: GatewayProcess
  let second: RunningGateway
  let serve: RunningServe
  let uri: string
  /** The way of a client: it leads to one of the gateways, as a proxy in front of them would. */
  let way: CuttingProxy

  const settings = (host: string) => ({
    port,
    registryDir: join(folder, host),
    flags: ['--host', host, '--aggregate', '--accept-joins', accounts.url, '--auth', 'none'],
  })
  before(async () => {
    folder = newFolder()
    accounts = await accountsInProcess()
    const caller = createCaller(accounts.url)
    const { access_token: access } = await caller.register('ada')
    const named = { name: 'ada-ws', scopes: ['instance'] }
    const { token } = (await caller.call('POST', '/tokens', access, named)).json
    const tokenFile = join(folder, 'join.token')
    await writeFile(tokenFile, token, { mode: 0o600 })
    port = await freePort()
    first = startGatewayProcess(settings(hosts[0]))
    await first.line('listening')
    second = gatewayInProcess(settings(hosts[1]))
    await second.line('listening')
    way = await CuttingProxy.open(port)
    atEnd(() => way.close())
    const joins = hosts.flatMap(host => ['--join', `http://${host}:${port}`])
    serve = await serveInProcess({ flags: [...joins, '--join-token-file', tokenFile] })
    uri = `instance://${serve.instanceId}/scene/current`
  })

  const healthAt = async (host: string) => {
    const { json } = await callStateless(`http://${host}:${port}/mcp`, 'resources/read', {
      uri: 'gateway://instances?include_dead=true',
    })
    const { instances } = JSON.parse(json.result.contents[0].text)
    return instances.find((row: any) => row.instance_id === serve.instanceId)?.health
  }
  const readAt = async (host: string) => {
    const { json } = await callStateless(`http://${host}:${port}/mcp`, 'resources/read', { uri })
    return JSON.parse(json.result.contents[0].text)
  }
  const openClient = async () => {
    const session = await RawSession.open(`http://127.0.0.1:${way.port}/mcp`)
    const events = await session.listen()
    await session.call('resources/subscribe', { uri })
    return { session, events, updated: () => events.until(() => events.updates.includes(uri)) }
  }

  it('is listed and read at each, and goes on at the other when one is killed', async () => {
    for (const host of hosts) await until(async () => (await healthAt(host)) === 'live', host)
    await serve.post('scene', sceneOf(1))
    for (const host of hosts) expect(await readAt(host)).to.deep.equal(sceneOf(1))
    const before = await openClient()
    await serve.post('scene', sceneOf(2))
    await before.updated()

    await first.kill()
    // The proxy sends the client to the other gateway, which has had the instance all along.
    const { port: wayPort } = way
    way.close()
    way = await CuttingProxy.open(port, wayPort, hosts[1])
    expect(await healthAt(hosts[1])).to.equal('live')
    const after = await openClient()
    expect(await after.session.readJson(uri)).to.deep.equal(sceneOf(2))
    await serve.post('scene', sceneOf(3))
    await after.updated()
  })
})
