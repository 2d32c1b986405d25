import { expect } from 'chai'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type AccessEntry, type Logger, silentLogger } from '../../src/lib/util/logger.ts'
import type { GatewayHandle, GatewayOptions } from '../../src/server/gateway/options.ts'
import { startGateway } from '../../src/server/gateway.ts'
import type { ServeHandle, ServeOptions } from '../../src/server/host/serve-options.ts'
import { startServe } from '../../src/server/serve.ts'
import { makeRecord } from './gateway/support.ts'
import { until } from '../e2e/until.ts'
import { freePort } from '../helpers/gateway-process.ts'
import { writeInstance } from '../helpers/instance-files.ts'
import { ask, RawSession } from '../helpers/mcp.ts'

const identityPath = '/gateway/v1/resident'
const keyed = { mode: 'api-key', key: 'the-key-of-clients', keysFile: '/none/keys.json' } as const

describe('startGateway', () => {
  let registryDir: string
  const started = new Set<{ stop(): Promise<void> }>()

  beforeEach(async () => (registryDir = await mkdtemp(join(tmpdir(), 'gateway-'))))
  afterEach(async () => {
    await Promise.all([...started].map(handle => handle.stop()))
    started.clear()
    await rm(registryDir, { recursive: true, force: true })
  })

  const common = () => ({
    ...{ host: '127.0.0.1', allowedHosts: [], allowedOrigins: [], registryDir },
    ...{ accessLog: () => {}, log: silentLogger },
  })

  async function start(
    options: Partial<GatewayOptions> = {},
    cancelled?: AbortSignal,
  ): Promise<GatewayHandle> {
    const rules = { standby: true, port: 0 }
    const handle = await startGateway({ ...common(), ...rules, ...options }, cancelled)
    started.add(handle)
    return handle
  }

  async function serve(options: Partial<ServeOptions>): Promise<ServeHandle> {
    const kind = { port: 0, dccType: 'maya', artefacts: false, resources: true }
    const handle = await startServe({ ...common(), ...kind, ...options })
    started.add(handle)
    return handle
  }

  const files = async () => (await readdir(registryDir)).toSorted()
  const baseOf = ({ url }: { url: string }) => url.slice(0, -'/mcp'.length)

  it('serves the instances of the folder, and shows what it is by its path and its file', async () => {
    const instance = await serve({})
    const gateway = await start()
    const session = await RawSession.open(gateway.url)
    const { instances } = await session.readJson('gateway://instances')
    expect(instances).to.have.length(1)
    expect(instances[0]).to.include({ instance_id: instance.instanceId, mcp_url: instance.url })

    const { status, json } = await ask(`${baseOf(gateway)}${identityPath}`)
    expect(status).to.equal(200)
    const { instanceId: instance_id, url, port } = gateway
    expect(json).to.include({ service: 'service-cli', role: 'gateway', instance_id, url })
    expect(json.pid).to.equal(process.pid)
    const file = join(registryDir, `gateway-${port}.json`)
    expect(JSON.parse(await readFile(file, 'utf8'))).to.deep.equal(json)
    expect((await stat(file)).mode & 0o777).to.equal(0o600)
    expect(JSON.stringify(json)).not.to.contain(registryDir)
    expect((await ask(`${baseOf(gateway)}/readyz`)).json).to.deep.equal({ status: 'ready' })
  })

  it('reports an address that is not of this machine, and asks nothing of it', async () => {
    const gateway = await start()
    const foreign = 'http://169.254.169.254'
    const record = makeRecord({ mcp_url: `${foreign}/latest`, host_url: `${foreign}/host` })
    const { instance_id: id } = record
    await writeFile(join(registryDir, 'instances', `${id}.json`), JSON.stringify(record))
    const session = await RawSession.open(gateway.url)
    const found = async () =>
      (await session.readJson('gateway://diagnostics/process')).instances.find(
        (row: any) => row.instance_id === id,
      )
    await until(async () => (await found()) !== undefined, 'it is there')
    expect((await found()).diagnostics).to.include({
      not_probed: 'its address is not one of this machine alone',
      probed_at: null,
    })
  })

  it('says that it yields when it stops, and leaves nothing behind', async () => {
    const log = createMemoryLog()
    const gateway = await start({ log })
    await gateway.stop()
    await gateway.closed
    expect(await files()).to.deep.equal(['instances'])
    const events = log.lines.map(({ event }) => event).filter(event => event !== undefined)
    expect(events).to.deep.equal(['election_won', 'voluntary_yield'])
  })

  it('is asked who it is without a key, by no page, and without a line in the log', async () => {
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

  it('is the only one that has this path', async () => {
    const { url } = await serve({})
    expect((await ask(`${baseOf({ url })}${identityPath}`)).status).to.equal(404)
  })

  it('says before it competes when it could never serve', async () => {
    const catalog = join(registryDir, 'catalog.json')
    await writeFile(catalog, 'no catalog')
    const port = await freePort()
    await start({ port })
    const error = await start({ port, catalog }).catch((cause: unknown) => cause)
    expect(error).to.include({ code: 'config_invalid' })
  })

  it('stands by until it is cancelled, and leaves nothing behind', async () => {
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

  it('rejects a start that was cancelled before, and binds nothing', async () => {
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

  it('has what happened in the ring that comes with the port', async () => {
    const first = await start({ port: await freePort() })
    const said = Promise.withResolvers<string>()
    const second = start({ port: first.port, onElection: ({ event }) => said.resolve(event) })
    await said.promise
    await first.stop()
    started.delete(first)
    const session = await RawSession.open((await second).url)
    const { result } = await session.call('resources/read', { uri: 'resources://gateway/events' })
    const events = result.contents[0].text
      .trim()
      .split('\n')
      .map((line: string) => JSON.parse(line))
    expect(events.map(({ event }: any) => event)).to.deep.equal(['contention', 'takeover'])
    expect(events[1].reason).to.contain('yielded')
  })

  describe('asks instances whether they are ready', () => {
    const sockets = new Set<Socket>()
    let close = () => {}
    afterEach(() => {
      for (const socket of sockets) socket.destroy()
      sockets.clear()
      close()
    })

    /** Takes connections and says nothing. */
    async function mute(): Promise<string> {
      const server = createTcpServer(socket => sockets.add(socket)).listen(0, '127.0.0.1')
      await once(server, 'listening')
      close = () => server.close()
      return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
    }

    it('and shows one that says nothing as what it is', async () => {
      const instance = await writeInstance(registryDir, { url: await mute() })
      const probing = { probeIntervalMs: 20, probeTimeoutMs: 100 }
      const gateway = await start({ limits: probing })
      const session = await RawSession.open(gateway.url)
      const read = async () => (await session.readJson('gateway://instances')).instances[0]
      await until(async () => (await read()).health === 'unhealthy', 'it is unhealthy')
      expect(await read()).to.include({ status: 'unreachable' })
      const process = await session.readJson('gateway://diagnostics/process')
      expect(process.counts).to.include({ live: 0, unhealthy: 1 })
      await instance.remove()
    })

    it('and does not wait for an answer when it stops', async () => {
      const instance = await writeInstance(registryDir, { url: await mute() })
      const gateway = await start({ limits: { probeTimeoutMs: 600_000 } })
      await until(() => sockets.size > 0, 'it asks')
      await gateway.stop()
      await instance.remove()
    })

    it('and never itself', async () => {
      const port = await freePort()
      const url = `http://127.0.0.1:${port}/mcp`
      const instance = await writeInstance(registryDir, { url })
      const paths: string[] = []
      const accessLog = ({ path }: AccessEntry) => void paths.push(path)
      await start({ port, accessLog, limits: { probeIntervalMs: 10 } })
      // One that is asked in the same rounds.
      const other = await serve({})
      const session = await RawSession.open(url)
      const probed = async () =>
        (await session.readJson('gateway://diagnostics/process')).instances.find(
          (row: any) => row.instance_id === other.instanceId,
        )?.diagnostics.probed_at
      await until(async () => typeof (await probed()) === 'string', 'the other one is asked')
      expect(paths).not.to.include('/readyz')
      await instance.remove()
    })
  })

  it('clears away what dead instances left, and says so', async () => {
    const { pid } = spawnSync(process.execPath, ['--version'])
    const instance = await writeInstance(registryDir, { pid, heartbeatMs: 600_000 })
    const gateway = await start({ limits: { reapAfterMs: 0, recordScanMs: 20 } })
    const session = await RawSession.open(gateway.url)
    const ring = async () =>
      (await session.call('resources/read', { uri: 'resources://gateway/events' })).result
        .contents[0].text
    await until(async () => (await ring()).includes('"ghost_reaped"'), 'it is cleared away')
    expect((await ring()).match(/"ghost_reaped"/g)).to.have.length(1)
    expect(await readdir(join(registryDir, 'instances'))).to.deep.equal([])
    await instance.remove()
  })

  describe('beside serve', () => {
    it('serves on its own port, with sessions of its own', async () => {
      const port = await freePort()
      const instance = await serve({ gateway: { port } })
      const url = `http://127.0.0.1:${port}/mcp`
      await until(() => isReady(url), 'the gateway listens')
      const session = await RawSession.open(url)
      const { instances } = await session.readJson('gateway://instances')
      expect(instances[0]).to.include({ instance_id: instance.instanceId })
      const elsewhere = { ...session.headers }
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })
      const foreign = await ask(instance.url, { method: 'POST', headers: elsewhere, body })
      expect(foreign.status).to.equal(404)
      await instance.stop()
      started.delete(instance)
      expect(await isReady(url)).to.equal(false)
      expect(await files()).to.deep.equal(['instances'])
    })

    it('asks for the key of the server', async () => {
      const port = await freePort()
      await serve({ gateway: { port }, auth: keyed })
      const url = `http://127.0.0.1:${port}/mcp`
      await until(() => isReady(url), 'the gateway listens')
      expect((await ask(url, { method: 'POST' })).status).to.equal(401)
    })

    it('stands by behind the gateway of another, and takes over', async () => {
      const port = await freePort()
      const first = await serve({ gateway: { port } })
      const url = `http://127.0.0.1:${port}/mcp`
      await until(() => isReady(url), 'the gateway listens')
      const log = createMemoryLog()
      const second = await serve({ gateway: { port }, log })
      await until(() => log.lines.some(({ event }) => event === 'contention'), 'it stands by')
      await first.stop()
      started.delete(first)
      await until(() => log.lines.some(({ event }) => event === 'takeover'), 'it takes over')
      const session = await RawSession.open(url)
      const { instances } = await session.readJson('gateway://instances')
      expect(instances.map((row: any) => row.instance_id)).to.deep.equal([second.instanceId])
    })

    it('is nothing that serve depends on', async () => {
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
})

function createMemoryLog(): Logger & { lines: { event?: unknown }[] } {
  const lines: { event?: unknown }[] = []
  const add = (fields: object): void => void lines.push(fields)
  return { lines, debug: () => {}, info: add, warn: add, error: add }
}
