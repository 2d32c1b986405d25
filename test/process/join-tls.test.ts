import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createCaller } from '../helpers/accounts-caller.ts'
import type { RunningAccounts } from '../helpers/accounts-process.ts'
import { makePair, writePair } from '../helpers/certificate.ts'
import type { RunningGateway } from '../helpers/gateway-process.ts'
import { accountsInProcess, gatewayInProcess } from '../helpers/in-process-servers.ts'
import { ask } from '../helpers/mcp.ts'
import { type ServeProcess, startServeProcess } from '../helpers/serve-process.ts'
import { statelessHeaders, statelessRequest } from '../helpers/stateless.ts'
import { until } from '../helpers/until.ts'

describe('serve --join over TLS', () => {
  const key = 'the-key-of-the-gateway'
  let folder: string
  let accounts: RunningAccounts
  let gateway: RunningGateway | undefined
  let serve: ServeProcess | undefined

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'join-tls-'))
    accounts = await accountsInProcess()
  })
  after(async () => {
    await serve?.stop()
    await gateway?.stop()
    await accounts?.stop()
    await rm(folder, { recursive: true, force: true })
  })

  // Node reads the variable when a process starts.
  it('trusts the authority that NODE_EXTRA_CA_CERTS names', async () => {
    const caller = createCaller(accounts.url)
    const { access_token: access } = await caller.register('ada')
    const named = { name: 'ada-ws', scopes: ['instance'] }
    const { token } = (await caller.call('POST', '/tokens', access, named)).json
    const { certFile, keyFile } = await writePair(folder, makePair())
    const files = { key: join(folder, 'gateway.key'), token: join(folder, 'join.token') }
    await writeFile(files.key, key, { mode: 0o600 })
    await writeFile(files.token, token, { mode: 0o600 })
    gateway = gatewayInProcess({
      port: 0,
      registryDir: join(folder, 'gateway'),
      flags: [
        '--aggregate',
        `--accept-joins=${accounts.url}`,
        `--api-key-file=${files.key}`,
        `--tls-cert=${certFile}`,
        `--tls-key=${keyFile}`,
      ],
    })
    const { port } = new URL((await gateway.line('listening')).url)
    serve = await startServeProcess({
      flags: ['--join', `https://localhost:${port}`, '--join-token-file', files.token],
      env: { NODE_EXTRA_CA_CERTS: certFile },
    })
    await serve.post('scene', { objects: [{ id: 'Cube' }] })
    const uri = `instance://${serve.instanceId}/scene/current`
    const ca = await readFile(certFile, 'utf8')
    const read = async () => {
      const { json } = await ask(`https://localhost:${port}/mcp`, {
        method: 'POST',
        ca,
        headers: { ...statelessHeaders('resources/read', { uri }), Authorization: `Bearer ${key}` },
        body: JSON.stringify(statelessRequest('resources/read', { uri })),
      })
      return String(json.result?.contents[0].text)
    }
    await until(async () => (await read()).includes('Cube'), 'the scene, read at the gateway')
  })
})
