import * as v2 from '@modelcontextprotocol/client'
import { loadSdk, type Sdk, type StatelessClient } from '../../clients/client-face.ts'
import { type Prepared, prepare, runScenario } from '../../clients/scenario.ts'
import { runStatelessScenario, type StatelessConnection } from '../../clients/stateless-scenario.ts'
import { serveInProcess } from '../../helpers/in-process-servers.ts'

describe('the newest SDK clients', () => {
  let prepared: Prepared
  before(async () => (prepared = await prepare(await serveInProcess())))

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

  const stateless: [string, unknown][] = [
    ['asks for the stateless transport first', 'auto'],
    ['speaks the stateless transport only', { pin: '2026-07-28' }],
  ]
  for (const [title, mode] of stateless) {
    it(`work with SDK v2 when it ${title}`, async () => {
      await runStatelessScenario(prepared, url => connection(url, mode))
    })
  }

  function connection(url: URL, mode: unknown): StatelessConnection {
    return {
      client: new Client(info, { versionNegotiation: { mode } }) as StatelessClient,
      transport: new StreamableHTTPClientTransport(url),
    }
  }
})
