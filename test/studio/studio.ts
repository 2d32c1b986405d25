import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import tls from 'node:tls'
import { createCaller, quickLimits } from '../helpers/accounts-caller.ts'
import { startAccountsProcess } from '../helpers/accounts-process.ts'
import { type Cable, openCable } from '../helpers/cable.ts'
import { makePair, writePair } from '../helpers/certificate.ts'
import { freePort } from '../helpers/free-port.ts'
import { type GatewayProcess, startGatewayProcess } from '../helpers/gateway-process.ts'
import { makeKeys } from '../helpers/keyed-server.ts'
import { ask } from '../helpers/mcp.ts'
import { root } from '../helpers/program.ts'
import { type ServeProcess, startServeProcess } from '../helpers/serve-process.ts'
import { skipBecause } from '../helpers/skip.ts'
import { statelessHeaders, statelessRequest } from '../helpers/stateless.ts'
import { until } from '../helpers/until.ts'
import { Agent, type AgentKind } from './agent.ts'
import { type Network, openNetwork } from './network.ts'
import { type Postgres, startPostgres } from './postgres.ts'

/** A gateway, which the others reach over a cable. */
export interface StudioGateway {
  process: GatewayProcess
  readonly port: number
  readonly cable: Cable
}

/** An instance on a machine of its own. */
export interface StudioInstance {
  readonly machine: string
  readonly serve: ServeProcess
  readonly uri: string
  /** Sets its scene to one with this value. */
  set(value: number): Promise<void>
}

/** A database, two gateways behind nginx, and an instance on each of three machines. */
export interface Studio {
  readonly postgres: Postgres
  /** The address of the database of the gateways. */
  readonly database: string
  readonly network: Network
  readonly gateways: readonly StudioGateway[]
  readonly instances: readonly StudioInstance[]
  /** The address of all gateways. */
  readonly base: string
  /** A key for each gateway, which nginx sends there while both run. */
  readonly keys: readonly string[]
  agents(kinds: readonly AgentKind[]): Agent[]
  restart(gateway: StudioGateway): Promise<void>
  /** The row of the instance, as this gateway has it, or that to which nginx sends the first key. */
  rowOf(instance: StudioInstance, gateway?: StudioGateway): Promise<any>
  read(uri: string, gateway: StudioGateway): Promise<any>
  stop(): Promise<void>
}

const machines = ['a', 'b', 'c']

/** Started in a `before` hook; skips the suite, with the reason, where something is missing. */
export async function startStudio(
  context: Mocha.Context,
  bounds: readonly string[] = [],
): Promise<Studio> {
  if (spawnSync('nginx', ['-v']).error !== undefined) skipBecause(context, 'needs nginx')
  const network = openNetwork(context, machines)
  const ends: (() => unknown)[] = [() => network.remove()]
  const stop = async (): Promise<void> => {
    for (const end of ends.splice(0).toReversed()) await end()
  }
  try {
    return await start()
  } catch (error) {
    await stop()
    throw error
  }

  async function start(): Promise<Studio> {
    const postgres = await startPostgres(context)
    ends.push(() => postgres.remove())
    const folder = await mkdtemp(join(tmpdir(), 'studio-'))
    ends.push(() => rm(folder, { recursive: true, force: true }))
    const pair = makePair({ names: ['localhost', '127.0.0.1', network.address] })
    const { certFile } = await writePair(folder, pair)
    const trusted = tls.getCACertificates('default')
    tls.setDefaultCACertificates([...trusted, pair.cert])
    ends.push(() => tls.setDefaultCACertificates(trusted))
    const accounts = await startAccountsProcess({ flags: quickLimits })
    ends.push(() => accounts.stop())
    const caller = createCaller(accounts.url)
    const { access_token: access } = await caller.register('ada')
    const named = { name: 'ada-ws', scopes: ['instance'] }
    const { token } = (await caller.call('POST', '/tokens', access, named)).json
    const tokenFile = join(folder, 'join.token')
    await writeFile(tokenFile, token, { mode: 0o600 })
    const keyStore = await makeKeys()
    ends.push(() => keyStore.remove())
    const allKeys = await Promise.all(
      Array.from({ length: 12 }, (_, at) => keyStore.create(`agent-${at}`)),
    )
    const port = await freePort()
    const base = `https://${network.address}:${port}`
    const database = await postgres.schema()
    const boundFlags = bounds.map(bound => `--bound=${bound}`)

    const startGateway = ({ port: own, cable }: Pick<StudioGateway, 'port' | 'cable'>) => {
      const flags = [
        '--aggregate',
        '--accept-joins',
        accounts.url,
        '--database',
        database,
        '--peer-url',
        `http://127.0.0.1:${cable.port}`,
        '--public-url',
        base,
        '--trusted-proxy',
        '127.0.0.1',
        '--keys-file',
        keyStore.store.path,
        ...boundFlags,
      ]
      return startGatewayProcess({ port: own, registryDir: join(folder, `gateway-${own}`), flags })
    }
    const gateways: StudioGateway[] = []
    ends.push(() => Promise.all(gateways.map(({ process }) => process.kill())))
    for (const _ of [1, 2]) {
      const own = await freePort()
      const cable = await openCable(own)
      ends.push(() => cable.close())
      const gateway = { port: own, cable, process: startGateway({ port: own, cable }) }
      gateways.push(gateway)
      await gateway.process.line('listening')
    }
    const nginx = await startNginx(folder, { port, address: network.address, gateways })
    ends.push(() => nginx.end())

    const instances: StudioInstance[] = []
    ends.push(() => Promise.all(instances.map(({ serve }) => serve.stop())))
    const started = machines.map(async machine => {
      const sceneFile = join(folder, `${machine}.json`)
      const set = (value: number) => writeFile(sceneFile, JSON.stringify({ value, objects: [] }))
      await set(0)
      const serve = await startServeProcess({
        within: network.within(machine),
        env: { NODE_EXTRA_CA_CERTS: certFile },
        flags: [
          '--join',
          base,
          '--join-token-file',
          tokenFile,
          '--visible-to',
          'all',
          '--scene-file',
          sceneFile,
          '--name',
          machine,
          ...boundFlags,
        ],
      })
      const uri = `instance://${serve.instanceId}/scene/current`
      instances.push({ machine, serve, uri, set })
    })
    await Promise.all(started)

    const headersOf = (key: string) => ({ Authorization: `Bearer ${key}` })
    const atOf = async (key: string) => {
      const { headers } = await ask(`${base}/healthz`, { headers: headersOf(key) })
      return Number(String(headers['x-gateway']).split(':')[1])
    }
    const keyed = await Promise.all(allKeys.map(async key => ({ key, port: await atOf(key) })))
    const keys = gateways.map(gateway => keyed.find(({ port: at }) => at === gateway.port)?.key)
    if (keys.includes(undefined)) throw new Error('nginx sends every key to one gateway')
    const read = async (uri: string, gateway: StudioGateway) => {
      const params = { uri }
      const { json } = await ask(`http://127.0.0.1:${gateway.port}/mcp`, {
        method: 'POST',
        headers: { ...statelessHeaders('resources/read', params), ...headersOf(keys[0] ?? '') },
        body: JSON.stringify(statelessRequest('resources/read', params)),
      })
      return json
    }
    const agents: Agent[] = []
    ends.push(() => Promise.all(agents.map(agent => agent.close())))
    return {
      postgres,
      database,
      network,
      gateways,
      instances,
      base,
      keys: keys.filter(key => key !== undefined),
      agents(kinds) {
        const uris = instances.map(({ uri }) => uri)
        const made = keys.flatMap(key =>
          kinds.map(kind => new Agent(`${base}/mcp`, key ?? '', kind, uris)),
        )
        agents.push(...made)
        return made
      },
      async restart(gateway) {
        gateway.process = startGateway(gateway)
        await gateway.process.line('listening')
      },
      async rowOf({ serve }, gateway = gateways[0]) {
        if (gateway === undefined) throw new Error('no gateway')
        const { result } = await read('gateway://instances?include_dead=true', gateway)
        const { instances: rows } = JSON.parse(result.contents[0].text)
        return rows.find((row: any) => row.instance_id === serve.instanceId)
      },
      read,
      stop,
    }
  }
}

/** nginx as docs/studio-servers.md says, with the addresses of the test in place of those of the document. */
async function startNginx(
  folder: string,
  {
    port,
    address,
    gateways,
  }: { port: number; address: string; gateways: readonly StudioGateway[] },
): Promise<{ end(): Promise<void> }> {
  const text = await readFile(join(root, 'docs/studio-servers.md'), 'utf8')
  const block = /```nginx\n(.*?)```/s.exec(text)?.[1] ?? ''
  const exchanged = [
    ['listen 443 ssl;', `listen ${address}:${port} ssl; listen 127.0.0.1:${port} ssl;`],
    ['server_name gateway.studio.example;', `server_name ${address};`],
    ['/etc/nginx/tls/gateway.studio.example.crt', join(folder, 'cert.pem')],
    ['/etc/nginx/tls/gateway.studio.example.key', join(folder, 'key.pem')],
    ['10.0.0.7:9765', `127.0.0.1:${gateways[0]?.port}`],
    ['10.0.0.8:9765', `127.0.0.1:${gateways[1]?.port}`],
    ['proxy_set_header Host $host;', 'proxy_set_header Host $http_host;'],
  ].reduce((config, [from = '', to = '']) => {
    if (!config.includes(from)) throw new Error(`docs/studio-servers.md has no "${from}"`)
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
  await until(async () => {
    const answer = await ask(`https://localhost:${port}/healthz`).catch(() => null)
    if (answer === null && child.exitCode !== null) throw new Error(await readFile(log, 'utf8'))
    return answer !== null
  }, 'nginx answers')
  return {
    async end() {
      child.kill('SIGTERM')
      await exited
    },
  }
}
