import { expect } from 'chai'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createCaller, quickLimits } from '../helpers/accounts-caller.ts'
import type { RunningAccounts } from '../helpers/accounts-process.ts'
import { makePair, writePair } from '../helpers/certificate.ts'
import type { RunningGateway } from '../helpers/gateway-process.ts'
import {
  accountsInProcess,
  gatewayInProcess,
  serveInProcess,
} from '../helpers/in-process-servers.ts'
import { ask } from '../helpers/mcp.ts'
import { type RunningServe, startServeProcess } from '../helpers/serve-process.ts'
import { statelessHeaders, statelessRequest } from '../helpers/stateless.ts'
import { until } from '../helpers/until.ts'

/** No name server knows it. */
const name = 'gateway.studio.invalid'

describe('serve --join over TLS', () => {
  const key = 'the-key-of-the-gateway'
  let folder: string
  let accounts: RunningAccounts
  let gateway: RunningGateway
  let port: number
  let ca: Record<string, string>
  let certificate: string
  let flags: string[]
  let serve: RunningServe | undefined

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'join-tls-'))
    accounts = await accountsInProcess({ flags: quickLimits })
    const caller = createCaller(accounts.url)
    const { access_token: access } = await caller.register('ada')
    const scoped = { name: 'ada-ws', scopes: ['instance'] }
    const { token } = (await caller.call('POST', '/tokens', access, scoped)).json
    const { certFile, keyFile } = await writePair(folder, makePair({ names: ['localhost', name] }))
    ca = { NODE_EXTRA_CA_CERTS: certFile }
    certificate = await readFile(certFile, 'utf8')
    const files = { key: join(folder, 'gateway.key'), token: join(folder, 'join.token') }
    await writeFile(files.key, key, { mode: 0o600 })
    await writeFile(files.token, token, { mode: 0o600 })
    flags = ['--join-token-file', files.token, '--capture', 'off']
    gateway = gatewayInProcess({
      port: 0,
      registryDir: join(folder, 'gateway'),
      flags: [
        '--aggregate',
        '--accept-joins',
        accounts.url,
        '--allowed-host',
        name,
        '--tls-cert',
        certFile,
        '--tls-key',
        keyFile,
        '--api-key-file',
        files.key,
      ],
    })
    port = Number(new URL((await gateway.line('listening')).url).port)
  })
  afterEach(async () => {
    await serve?.stop()
    serve = undefined
  })
  after(async () => {
    await gateway?.stop()
    await accounts?.stop()
    await rm(folder, { recursive: true, force: true })
  })

  /** A process when it has variables: Node reads them when it starts, a link when it connects. */
  const start = async (to: string, env: Record<string, string>) => {
    const startServe = Object.keys(env).length === 0 ? serveInProcess : startServeProcess
    return (serve = await startServe({ flags: ['--join', to, ...flags], env }))
  }

  /** Through the gateway, as a client far away. */
  async function read(uri: string): Promise<string> {
    const { json } = await ask(`https://localhost:${port}/mcp`, {
      method: 'POST',
      ca: certificate,
      headers: { ...statelessHeaders('resources/read', { uri }), Authorization: `Bearer ${key}` },
      body: JSON.stringify(statelessRequest('resources/read', { uri })),
    })
    return json.result?.contents[0].text ?? ''
  }
  async function expectScene(instance: RunningServe) {
    await instance.post('scene', { objects: [{ id: 'Cube' }] })
    const uri = `instance://${instance.instanceId}/scene/current`
    await until(async () => (await read(uri)).includes('Cube'), 'the scene, read at the gateway')
  }

  it('trusts the authority that NODE_EXTRA_CA_CERTS names, and no other', async () => {
    const refused = await start(`https://localhost:${port}`, {})
    await until(() => refused.output().stderr.includes('TLS failed'), 'the reason')
    expect(JSON.parse(await read('gateway://instances')).instances).to.deep.equal([])
    await refused.stop()
    await expectScene(await start(`https://localhost:${port}`, ca))
  })

  describe('through a proxy', () => {
    let proxy: Server
    let address: string
    let asked: string[]
    beforeEach(async () => {
      asked = []
      proxy = createServer()
      proxy.on('connect', (req, socket, head) => {
        asked.push(req.url ?? '')
        const passed = connect(port, '127.0.0.1', () => {
          socket.write('HTTP/1.1 200 OK\r\n\r\n')
          passed.write(head)
          passed.pipe(socket).pipe(passed)
        })
        for (const end of [passed, socket]) end.on('error', () => {})
        socket.on('close', () => passed.destroy())
      })
      proxy.listen(0, '127.0.0.1')
      await once(proxy, 'listening')
      address = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
    })
    afterEach(() => {
      proxy.closeAllConnections()
      proxy.close()
    })

    it('joins a gateway of another machine, and checks its certificate', async () => {
      const to = `https://${name}:${port}`
      const unsure = await start(to, { HTTPS_PROXY: address })
      await until(() => unsure.output().stderr.includes('TLS failed'), 'the reason')
      await unsure.stop()
      await expectScene(await start(to, { HTTPS_PROXY: address, ...ca }))
      expect(new Set(asked)).to.deep.equal(new Set([`${name}:${port}`]))
    })

    it('is not used for this machine, nor for a name of NO_PROXY', async () => {
      await expectScene(await start(`https://localhost:${port}`, { HTTPS_PROXY: address, ...ca }))
      await serve?.stop()
      const env = { HTTPS_PROXY: address, NO_PROXY: name, ...ca }
      const direct = await start(`https://${name}:${port}`, env)
      await until(() => direct.output().stderr.includes('cannot resolve'), 'the reason')
      expect(asked).to.deep.equal([])
    })
  })
})
