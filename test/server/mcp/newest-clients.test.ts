import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as v2 from '@modelcontextprotocol/client'
import { expect } from 'chai'
import { loadSdk, type Sdk, type StatelessClient } from '../../clients/client-face.ts'
import { type Connection, type Prepared, prepare, runScenario } from '../../clients/scenario.ts'
import { runStatelessScenario, type StatelessConnection } from '../../clients/stateless-scenario.ts'
import { startServe } from '../../clients/serve.ts'

describe('the newest SDK clients', () => {
  let folder: string
  let prepared: Prepared

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'service-cli-newest-'))
    prepared = await prepare(await startServe(folder))
  })
  after(async () => {
    const code = await prepared?.serving.stop()
    await rm(folder, { recursive: true, force: true })
    expect(code).to.equal(0)
  })

  const info = { name: 'newest', version: '1' }

  it('work with SDK v1', async () => {
    const name = '@modelcontextprotocol/sdk'
    const sdk = await loadSdk(name, specifier => import(specifier))
    const open = (url: URL) => ({
      client: new sdk.Client(info),
      transport: new sdk.StreamableHTTPClientTransport(url),
    })
    await runScenario(prepared, open, { revision: '2025-11-25' })
  })

  // Two generations of types for one behaviour: the scenario's own shape stands between them.
  const { Client, StreamableHTTPClientTransport } = v2 as unknown as Sdk

  it('work with SDK v2 as it comes', async () => {
    const open = (url: URL): Connection => ({
      client: new Client(info),
      transport: new StreamableHTTPClientTransport(url),
    })
    await runScenario(prepared, open, { revision: '2025-11-25' })
  })

  const stateless: [string, unknown][] = [
    ['asks for the stateless transport first', 'auto'],
    ['speaks the stateless transport only', { pin: '2026-07-28' }],
  ]
  for (const [title, mode] of stateless) {
    it(`work with SDK v2 when it ${title}`, async () => {
      await runStatelessScenario(prepared, url => connection(url, mode))
    })
  }

  it('are told by SDK v2 that the server ended their stream', async () => {
    const other = await mkdtemp(join(tmpdir(), 'service-cli-newest-'))
    const serving = await startServe(other)
    try {
      const { client, transport } = connection(new URL(serving.url), 'auto')
      await client.connect(transport)
      const listening = await client.listen({ resourceSubscriptions: ['scene://current'] })
      const [code, ending] = await Promise.all([serving.stop(), listening.closed])
      expect([code, ending]).to.deep.equal([0, 'graceful'])
      await client.close()
    } finally {
      await serving.stop()
      await rm(other, { recursive: true, force: true })
    }
  })

  function connection(url: URL, mode: unknown): StatelessConnection {
    return {
      client: new Client(info, { versionNegotiation: { mode } }) as StatelessClient,
      transport: new StreamableHTTPClientTransport(url),
    }
  }
})
