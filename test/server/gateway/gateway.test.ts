import { expect } from 'chai'
import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { type Logger, silentLogger } from '../../../src/lib/util/logger.ts'
import {
  type GatewayHandle,
  type GatewayOptions,
  startGateway,
} from '../../../src/server/gateway.ts'
import type { ServeHandle, ServeOptions } from '../../../src/server/host/serve-options.ts'
import { startServe } from '../../../src/server/serve.ts'
import { newFolder } from '../../helpers/cleanup.ts'
import { freePort } from '../../helpers/free-port.ts'
import { ask, initialize, RawSession, toolCall } from '../../helpers/mcp.ts'
import { PageBrowser, useLink } from '../../helpers/page.ts'
import { statelessPost } from '../../helpers/stateless.ts'
import { until } from '../../helpers/until.ts'
import { listening } from '../../helpers/listening.ts'

const keyed = { mode: 'api-key', key: 'the-key-of-clients', keysFile: '/none/keys.json' } as const

const baseOf = ({ url }: { url: string }) => url.slice(0, -'/mcp'.length)

function createMemoryLog(): Logger & { lines: { event?: unknown }[] } {
  const lines: { event?: unknown }[] = []
  const add = (fields: object): void => void lines.push(fields)
  return { lines, debug: () => {}, info: add, warn: add, error: add }
}

async function isReady(url: string): Promise<boolean> {
  const answer = await ask(url.replace(/mcp$/, 'readyz')).catch(() => null)
  return answer?.status === 200
}

describe('startGateway', () => {
  let registryDir: string
  const started = new Set<{ stop(): Promise<void> }>()

  beforeEach(() => (registryDir = newFolder()))
  afterEach(async () => {
    await Promise.all([...started].map(handle => handle.stop()))
    started.clear()
  })

  const common = () => ({
    host: '127.0.0.1',
    allowedHosts: [],
    allowedOrigins: [],
    registryDir,
    accessLog: () => {},
    log: silentLogger,
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
  async function serve(options: Partial<ServeOptions> = {}): Promise<ServeHandle> {
    const kind = { port: 0, dccType: 'maya', artefacts: false, resources: true }
    const handle = await startServe({ ...common(), ...kind, ...options })
    started.add(handle)
    return handle
  }
  const files = async () => (await readdir(registryDir)).toSorted()
  const instancesAt = async (session: RawSession) =>
    (await session.readJson('gateway://instances')).instances as any[]

  it('serves the instances, describes itself in a file, and leaves no file behind', async () => {
    const instance = await serve()
    const log = createMemoryLog()
    const gateway = await start({ log })
    const [row, ...more] = await instancesAt(await RawSession.open(gateway.url))
    expect(more).to.deep.equal([])
    expect(row).to.include({ instance_id: instance.instanceId, mcp_url: instance.url })

    const { instanceId: instance_id, url, port } = gateway
    const file = join(registryDir, `gateway-${port}.json`)
    const { pid } = process
    expect(JSON.parse(await readFile(file, 'utf8'))).to.include({ instance_id, url, pid })
    expect((await stat(file)).mode & 0o777).to.equal(0o600)
    expect((await ask(`${baseOf(gateway)}/readyz`)).json).to.deep.equal({ status: 'ready' })

    await gateway.stop()
    await gateway.closed
    expect(await files()).to.deep.equal(['instances'])
    const events = log.lines.map(({ event }) => event).filter(event => event !== undefined)
    expect(events).to.deep.equal(['election_won', 'voluntary_yield'])
  })

  it('answers a request that comes while it starts', async () => {
    const instance = await serve()
    const port = await freePort()
    const early = Promise.withResolvers<RawSession>()
    const info = ({ event }: { event?: unknown }) => {
      if (event === 'election_won') early.resolve(RawSession.open(`http://127.0.0.1:${port}/mcp`))
    }
    await start({ port, log: { ...silentLogger, info } })
    const [row] = await instancesAt(await early.promise)
    expect(row.instance_id).to.equal(instance.instanceId)
  })

  it('rejects an invalid catalog before it stands by', async () => {
    const catalog = join(registryDir, 'catalog.json')
    await writeFile(catalog, 'no catalog')
    const { port } = await start()
    const error = await start({ port, catalog }).catch((cause: unknown) => cause)
    expect(error).to.include({ code: 'config_invalid' })
  })

  it('stands by until it is cancelled and leaves no file behind', async () => {
    const first = await start()
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
    expect(await isReady(first.url)).to.equal(true)
  })

  for (const tools of [true, false]) {
    it(`offers ${tools ? 'its tools, which wait for instances' : 'no tools'}, and says so`, async () => {
      const { url } = await start({ tools })
      const { json } = await initialize(url)
      const session = await RawSession.open(url)
      const listed = (await session.call('tools/list')).result.tools
      const own = ['list_resources', 'read_resource', 'wait_for_change']
      expect(listed.map(({ name }: any) => name)).to.deep.equal(tools ? own : [])
      expect(json.result.instructions.includes('wait_for_change')).to.equal(tools)
      if (!tools) return
      const removed = await session.call('tools/call', { name: 'list_dcc_instances' })
      expect(removed.error.code).to.equal(-32602)
      const waiting = session.call('tools/call', toolCall('wait_for_change'))
      await serve()
      const { structuredContent } = (await waiting).result
      expect(structuredContent).to.deep.equal({ changed: true, uris: ['gateway://instances'] })
    })
  }

  describe('in serve', () => {
    it('has its own port and sessions, and passes on what instances have when it is to', async () => {
      const port = await freePort()
      const instance = await serve({ gateway: { port, aggregate: true } })
      const url = `http://127.0.0.1:${port}/mcp`
      await until(() => isReady(url), 'the gateway listens')
      const session = await RawSession.open(url)
      const [row] = await instancesAt(session)
      expect(row).to.include({ instance_id: instance.instanceId })
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })
      const foreign = await ask(instance.url, { method: 'POST', headers: session.headers, body })
      expect(foreign.status).to.equal(404)
      const uri = `instance://${instance.instanceId}/scene/current`
      expect((await session.call('resources/read', { uri })).error).to.equal(undefined)
      await instance.stop()
      expect(await isReady(url)).to.equal(false)
      // The sessions are for the next gateway on the port.
      expect(await files()).to.deep.equal(['instances', `sessions-${port}.json`])
    })

    it('requires the key of the server', async () => {
      const port = await freePort()
      await serve({ gateway: { port }, auth: keyed })
      const url = `http://127.0.0.1:${port}/mcp`
      await until(() => isReady(url), 'the gateway listens')
      expect((await ask(url, { method: 'POST' })).status).to.equal(401)
    })

    it('stands by while another gateway is active and takes over', async () => {
      const { port, url, stop } = await start()
      const log = createMemoryLog()
      const second = await serve({ gateway: { port }, log })
      await until(() => log.lines.some(({ event }) => event === 'contention'), 'it stands by')
      await stop()
      await until(() => log.lines.some(({ event }) => event === 'takeover'), 'it takes over')
      await until(() => isReady(url), 'the gateway listens')
      const rows = await instancesAt(await RawSession.open(url))
      expect(rows.map(row => row.instance_id)).to.deep.equal([second.instanceId])
    })

    it('leaves serve running when the port is taken', async () => {
      const otherProgram = createServer((_req, res) => res.end('hello'))
      const port = await listening(otherProgram)
      const log = createMemoryLog()
      const instance = await serve({ gateway: { port }, log })
      await until(() => log.lines.some(({ event }) => event === 'port_taken'), 'it is logged')
      expect(await isReady(instance.url)).to.equal(true)
    })
  })

  describe('with a page', () => {
    const readInstances = (url: string, headers: Record<string, string>) => {
      const params = { uri: 'gateway://instances' }
      return ask(url, statelessPost('resources/read', params, headers))
    }

    it('lets a browser in by a link, which reads the instances, and writes nothing', async () => {
      await serve()
      const gateway = await start({ auth: keyed, page: true })
      const base = baseOf(gateway)
      const link = gateway.pageLogin()
      expect(link).to.match(new RegExp(`^${base}/#login=`))
      const own = new PageBrowser(base, await useLink(base, link))
      expect((await useLink(base, link)).status).to.equal(403)
      expect((await readInstances(gateway.url, {})).status).to.equal(401)
      const { json } = await readInstances(gateway.url, own.headers)
      expect(JSON.parse(json.result.contents[0].text).instances).to.have.length(1)
      for (const path of ['/page/notes', '/page/artefacts', '/host/v1/page-login']) {
        const answer = await own.post(path, { text: 'x' })
        expect([answer.status, answer.json.code], path).to.deep.equal([404, 'route-not-found'])
      }
      await own.logOut()
      expect((await readInstances(gateway.url, own.headers)).status).to.equal(401)
    })

    it('has none unless it is asked for', async () => {
      const gateway = await start()
      expect(gateway.pageLogin()).to.equal(null)
      expect((await ask(`${baseOf(gateway)}/`)).status).to.equal(404)
    })
  })
})
