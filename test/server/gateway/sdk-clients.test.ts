import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as v2 from '@modelcontextprotocol/client'
import { expect } from 'chai'
import { silentLogger } from '../../../src/lib/util/logger.ts'
import { type GatewayHandle, startGateway } from '../../../src/server/gateway.ts'
import { startServe } from '../../../src/server/serve.ts'
import { withFolder } from '../../helpers/folder.ts'
import { gatewayInProcess } from '../../helpers/in-process-servers.ts'
import { runCommand } from '../../helpers/in-process.ts'
import { runProgram } from '../../helpers/program.ts'
import {
  loadSdk,
  type Sdk,
  type SdkClient,
  type SdkTransport,
  type StatelessClient,
  Updates,
} from '../../clients/client-face.ts'
import { readJson } from '../../clients/scenario.ts'
import { tapFetch } from '../../clients/wire.ts'

const instances = 'gateway://instances'

describe('the newest SDK clients at a gateway', () => {
  let folder: string
  let gateway: GatewayHandle

  const common = () => ({
    port: 0,
    host: '127.0.0.1',
    allowedHosts: [],
    allowedOrigins: [],
    registryDir: folder,
    accessLog: () => {},
    log: silentLogger,
  })

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gateway-clients-'))
    gateway = await startGateway({ ...common(), standby: false, aggregate: true })
  })
  after(async () => {
    await gateway?.stop()
    await rm(folder, { recursive: true, force: true })
  })

  const info = { name: 'newest', version: '1' }

  it('are told by a session of SDK v1 what comes and goes', async () => {
    const name = '@modelcontextprotocol/sdk'
    const sdk = await loadSdk(name, specifier => import(specifier))
    const client = new sdk.Client(info)
    const wire = tapFetch(gateway.url)
    try {
      await connect(client, new sdk.StreamableHTTPClientTransport(new URL(gateway.url)))
      await wire.streamOpen()
      await checkTold(client, () => client.subscribeResource({ uri: instances }))
    } finally {
      wire.release()
    }
  })

  it('are told by SDK v2 at 2026-07-28', async () => {
    const { Client, StreamableHTTPClientTransport } = v2 as unknown as Sdk
    const mode = { pin: '2026-07-28' }
    const client = new Client(info, { versionNegotiation: { mode } }) as StatelessClient
    await connect(client, new StreamableHTTPClientTransport(new URL(gateway.url)))
    expect(client.getProtocolEra()).to.equal('modern')
    await checkTold(client, async () => {
      const { honoredFilter } = await client.listen({ resourceSubscriptions: [instances] })
      expect(honoredFilter).to.deep.equal({ resourceSubscriptions: [instances] })
    })
  })

  async function connect(client: SdkClient, way: SdkTransport): Promise<void> {
    await client.connect(way)
    const { resources } = await client.listResources()
    expect(resources.map(({ uri }) => uri).toSorted()).to.deep.equal([
      'gateway://catalog',
      'gateway://diagnostics/audit',
      'gateway://diagnostics/metrics',
      'gateway://diagnostics/process',
      instances,
    ])
  }

  /** An instance appears and goes; each time the client is told and reads the truth. */
  async function checkTold(client: SdkClient, subscribe: () => Promise<unknown>): Promise<void> {
    const updates = new Updates(client)
    expect((await readJson(client, instances)).instances).to.deep.equal([])
    await subscribe()
    const serve = await startServe({
      ...common(),
      dccType: 'maya',
      artefacts: false,
      resources: true,
    })
    let told = 0
    try {
      await updates.until(instances, 1)
      const rows = (await readJson(client, instances)).instances as object[]
      expect(rows[0]).to.include({ instance_id: serve.instanceId, mcp_url: serve.url })
      told = updates.count(instances)
    } finally {
      await serve.stop()
    }
    await updates.until(instances, told + 1)
    expect((await readJson(client, instances)).instances).to.deep.equal([])
    await client.close()
  }
})

describe('a client of a gateway', () => {
  for (const flags of [[], ['--aggregate']]) {
    const isWarned = flags.length === 0
    it(`is set up ${isWarned ? 'with' : 'without'} a warning that it would only see the listing`, () =>
      withFolder(async registryDir => {
        const gateway = gatewayInProcess({ port: 0, registryDir, flags })
        const { url } = await gateway.line('listening')
        const folder = ['--registry-dir', registryDir]
        const configured = await runCommand(['mcp-config', 'cursor', '--gateway', ...folder])
        // Its log goes past `process.stderr`.
        const connected = await runProgram(['connect', 'gateway', ...folder])
        for (const { code, stderr } of [configured, connected]) {
          expect(code).to.equal(0)
          expect(stderr.includes('restart it with --aggregate')).to.equal(isWarned, stderr)
        }
        expect(configured.stdout).to.include(`"url": "${url}"`)
        await gateway.stop()
      }))
  }
})
