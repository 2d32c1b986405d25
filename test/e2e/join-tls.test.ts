import { expect } from 'chai'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createCaller, quickLimits } from '../helpers/accounts-caller.ts'
import { type AccountsProcess, startAccountsProcess } from '../helpers/accounts-process.ts'
import { makePair, writePair } from '../helpers/certificate.ts'
import { freePort } from '../helpers/free-port.ts'
import { type GatewayProcess, startGatewayProcess } from '../helpers/gateway-process.ts'
import { cleanEnv, runProgram } from '../helpers/program.ts'
import { type ServeProcess, startServeProcess } from '../helpers/serve-process.ts'
import { until } from '../helpers/until.ts'

/** No name server knows it. */
const name = 'gateway.studio.invalid'

describe('serve --join over TLS', () => {
  const key = 'the-key-of-the-gateway'
  let folder: string
  let accounts: AccountsProcess
  let gateway: GatewayProcess
  let port: number
  let ca: Record<string, string>
  let flags: string[]
  let serve: ServeProcess | undefined

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'join-tls-'))
    accounts = await startAccountsProcess({ flags: quickLimits })
    const caller = createCaller(accounts.url)
    const { access_token: access } = await caller.register('ada')
    const scoped = { name: 'ada-ws', scopes: ['instance'] }
    const { token } = (await caller.call('POST', '/tokens', access, scoped)).json
    const { certFile, keyFile } = await writePair(folder, makePair({ names: ['localhost', name] }))
    ca = { NODE_EXTRA_CA_CERTS: certFile }
    const files = { key: join(folder, 'gateway.key'), token: join(folder, 'join.token') }
    await writeFile(files.key, key, { mode: 0o600 })
    await writeFile(files.token, token, { mode: 0o600 })
    flags = ['--join-token-file', files.token, '--capture', 'off']
    port = await freePort()
    gateway = startGatewayProcess({
      ...{ port, registryDir: join(folder, 'gateway') },
      flags: [
        ...['--aggregate', '--accept-joins', accounts.url, '--allowed-host', name],
        ...['--tls-cert', certFile, '--tls-key', keyFile, '--api-key-file', files.key],
      ],
    })
    await gateway.line('listening')
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

  const start = async (to: string, env: Record<string, string>) =>
    (serve = await startServeProcess({ flags: ['--join', to, ...flags], env }))

  /** Through the gateway, as a client far away. */
  async function read(uri: string) {
    const args = ['resources', 'read', uri, '--url', `https://localhost:${port}/mcp`]
    const env = cleanEnv({ HOME: folder, SERVICE_MCP_API_KEY: key, ...ca })
    const { stdout } = await runProgram(args, { env })
    return stdout
  }
  async function expectScene(instance: ServeProcess) {
    await instance.post('scene', { objects: [{ id: 'Cube' }] })
    const uri = `instance://${instance.instanceId}/scene/current`
    await until(async () => (await read(uri)).includes('Cube'), 'the scene, read at the gateway')
  }

  it('trusts the authority that NODE_EXTRA_CA_CERTS names, and no other', async () => {
    const refused = await start(`https://localhost:${port}`, {})
    await until(() => refused.output().stderr.includes('NODE_EXTRA_CA_CERTS adds'), 'the reason')
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
      await until(() => unsure.output().stderr.includes('NODE_EXTRA_CA_CERTS adds'), 'the reason')
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
