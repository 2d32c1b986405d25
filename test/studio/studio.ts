import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { atEnd, newFolder } from '../helpers/cleanup.ts'
import { createCaller, startAccountsProcess } from '../helpers/accounts.ts'
import { makePair, trust, writePair } from '../helpers/certificate.ts'
import { freePort } from '../helpers/free-port.ts'
import { type GatewayProcess, startGatewayProcess } from '../helpers/gateway-process.ts'
import { makeKeys } from '../helpers/keyed-server.ts'
import { ask } from '../helpers/mcp.ts'
import { root } from '../helpers/program.ts'
import { type ServeProcess, startServeProcess } from '../helpers/serve-process.ts'
import { skipBecause } from '../helpers/skip.ts'
import { statelessPost } from '../helpers/stateless.ts'
import { until } from '../helpers/until.ts'

/** A gateway at an address of its own. */
interface StudioGateway {
  process: GatewayProcess
  readonly address: string
}

/** An instance that joins both gateways. */
export interface StudioInstance {
  readonly name: string
  readonly serve: ServeProcess
  readonly uri: string
  /** Sets its scene to one with this value. */
  set(value: number): Promise<void>
}

/** Two gateways, nginx before them, and three instances. */
export interface Studio {
  readonly gateways: readonly StudioGateway[]
  readonly instances: readonly StudioInstance[]
  /** The address of all gateways for clients. */
  readonly base: string
  /** A key for each gateway, which nginx sends there while both run. */
  readonly keys: readonly string[]
  restart(gateway: StudioGateway): Promise<void>
  /** The row of the instance, as this gateway has it, or that to which nginx sends the first key. */
  rowOf(instance: StudioInstance, gateway?: StudioGateway): Promise<any>
  read(uri: string, gateway: StudioGateway): Promise<any>
}

const instanceNames = ['a', 'b', 'c']
const proxyAddress = '127.0.0.1'
const gatewayAddresses = ['127.0.0.2', '127.0.0.3']
/** As docs/studio.md calls both gateways. */
const gatewayName = 'gateways.studio.example'

/** Started in a `before` hook; skips the suite, with the reason, where something is missing. */
export async function startStudio(context: Mocha.Context): Promise<Studio> {
  if (spawnSync('nginx', ['-v']).error !== undefined) skipBecause(context, 'needs nginx')
  const folder = newFolder()
  const names = ['localhost', proxyAddress, gatewayName, ...gatewayAddresses]
  const pair = makePair({ names })
  const { certFile, keyFile } = await writePair(folder, pair)
  trust(pair)
  const accounts = await startAccountsProcess()
  const caller = createCaller(accounts.url)
  const { access_token: access } = await caller.register('ada')
  const named = { name: 'ada-ws', scopes: ['instance'] }
  const { token } = (await caller.call('POST', '/tokens', access, named)).json
  const tokenFile = join(folder, 'join.token')
  await writeFile(tokenFile, token, { mode: 0o600 })
  const keyStore = await makeKeys()
  const allKeys = await Promise.all(
    Array.from({ length: 12 }, (_, at) => keyStore.create(`agent-${at}`)),
  )
  const port = await freePort()
  const gatewayPort = await freePort()
  const base = `https://${proxyAddress}:${port}`

  const startGateway = (address: string) => {
    const flags = [
      '--host',
      address,
      '--tls-cert',
      certFile,
      '--tls-key',
      keyFile,
      '--aggregate',
      '--accept-joins',
      accounts.url,
      '--public-url',
      base,
      '--allowed-host',
      gatewayName,
      '--trusted-proxy',
      proxyAddress,
      '--keys-file',
      keyStore.path,
    ]
    const registryDir = join(folder, `gateway-${address}`)
    return startGatewayProcess({ port: gatewayPort, registryDir, flags })
  }
  const at = ({ address }: StudioGateway) => `${address}:${gatewayPort}`
  const gateways: StudioGateway[] = []
  for (const address of gatewayAddresses) {
    const gateway = { address, process: startGateway(address) }
    gateways.push(gateway)
    await gateway.process.line('listening')
  }
  await startNginx(folder, { port, address: proxyAddress, gateways: gateways.map(at) })

  const instances: StudioInstance[] = []
  const started = instanceNames.map(async name => {
    const sceneFile = join(folder, `${name}.json`)
    const set = (value: number) => writeFile(sceneFile, JSON.stringify({ value, objects: [] }))
    await set(0)
    const serve = await startServeProcess({
      env: { NODE_EXTRA_CA_CERTS: certFile },
      flags: [
        ...gatewayAddresses.flatMap(each => ['--join', `https://${each}:${gatewayPort}`]),
        '--join-token-file',
        tokenFile,
        '--visible-to',
        'all',
        '--scene-file',
        sceneFile,
        '--name',
        name,
      ],
    })
    const uri = `instance://${serve.instanceId}/scene/current`
    instances.push({ name, serve, uri, set })
  })
  await Promise.all(started)

  const headersOf = (key: string) => ({ Authorization: `Bearer ${key}` })
  const atOf = async (key: string) => {
    const { headers } = await ask(`${base}/healthz`, { headers: headersOf(key) })
    return String(headers['x-gateway'])
  }
  const keyed = await Promise.all(allKeys.map(async key => ({ key, of: await atOf(key) })))
  const keys = gateways.map(gateway => keyed.find(({ of }) => of === at(gateway))?.key)
  if (keys.includes(undefined)) throw new Error('nginx sends every key to one gateway')
  const read = async (uri: string, gateway: StudioGateway) => {
    const params = { uri }
    const post = statelessPost('resources/read', params, headersOf(keys[0] ?? ''))
    const { json } = await ask(`https://${at(gateway)}/mcp`, post)
    return json
  }
  return {
    gateways,
    instances,
    base,
    keys: keys.filter(key => key !== undefined),
    async restart(gateway) {
      gateway.process = startGateway(gateway.address)
      await gateway.process.line('listening')
    },
    async rowOf({ serve }, gateway = gateways[0]) {
      if (gateway === undefined) throw new Error('no gateway')
      const { result } = await read('gateway://instances?include_dead=true', gateway)
      const { instances: rows } = JSON.parse(result.contents[0].text)
      return rows.find((row: any) => row.instance_id === serve.instanceId)
    },
    read,
  }
}

/** nginx as docs/studio.md says, with the addresses of the test in place of those of the document. */
async function startNginx(
  folder: string,
  { port, address, gateways }: { port: number; address: string; gateways: readonly string[] },
): Promise<void> {
  const text = await readFile(join(root, 'docs/studio.md'), 'utf8')
  const block = /```nginx\n(.*?)```/s.exec(text)?.[1] ?? ''
  const exchanged = [
    ['listen 443 ssl;', `listen ${address}:${port} ssl;`],
    ['server_name gateway.studio.example;', `server_name ${address};`],
    ['/etc/nginx/tls/gateway.studio.example.crt', join(folder, 'cert.pem')],
    ['/etc/nginx/tls/gateway.studio.example.key', join(folder, 'key.pem')],
    ['/etc/nginx/tls/studio-ca.crt', join(folder, 'cert.pem')],
    ['10.0.0.7:9765', gateways[0]],
    ['10.0.0.8:9765', gateways[1]],
    ['proxy_set_header Host $host;', 'proxy_set_header Host $http_host;'],
  ].reduce((config, [from = '', to = '']) => {
    if (!config.includes(from)) throw new Error(`docs/studio.md has no "${from}"`)
    return config.replaceAll(from, to)
  }, block)
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  const config = join(folder, 'nginx.conf')
  await writeFile(
    config,
    `user root;
    daemon off;
    worker_processes 1;
    pid ${folder}/nginx.pid;
    events { worker_connections 1024; }
    http {
      access_log off;
      add_header X-Gateway $upstream_addr always;
      ${temporary.map(name => `${name}_temp_path ${folder}/${name};`).join('\n')}
      ${exchanged}
    }`,
  )
  const log = join(folder, 'nginx.log')
  const child: ChildProcess = spawn('nginx', ['-p', folder, '-e', log, '-c', config], {
    stdio: 'ignore',
  })
  const exited = once(child, 'exit')
  atEnd(() => {
    child.kill('SIGTERM')
    return exited
  })
  await until(async () => {
    const answer = await ask(`https://localhost:${port}/healthz`).catch(() => null)
    if (answer === null && child.exitCode !== null) throw new Error(await readFile(log, 'utf8'))
    return answer !== null
  }, 'nginx answers')
}
