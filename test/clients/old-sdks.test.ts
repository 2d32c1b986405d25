import { expect } from 'chai'
import { loadSdk } from './client-face.ts'
import { type Prepared, prepare, runScenario } from './scenario.ts'
import { type Serving, startServe } from './serve.ts'
import { newFolder } from '../helpers/cleanup.ts'

// Each release asks for the newest revision of its time, so these speak all revisions for real.
const releases: [installed: string, release: string, revision: string][] = [
  ['sdk-1.10', '1.10.2', '2024-11-05'],
  ['sdk-1.12', '1.12.3', '2025-03-26'],
  ['sdk-1.17', '1.17.5', '2025-06-18'],
  ['sdk-1.23', '1.23.0', '2025-06-18'],
  ['sdk-1.24', '1.24.3', '2025-11-25'],
]

const tried = process.env.OLD_SDKS === 'all' ? releases : releases.slice(-1)

describe('old releases of the TypeScript SDK', function () {
  this.timeout(60_000)
  let folder: string
  let serving: Serving
  let prepared: Prepared

  before(async () => {
    folder = newFolder()
    serving = await startServe(folder)
    prepared = await prepare(serving)
  })
  after(async () => {
    const code = await serving?.stop()
    expect(code).to.equal(0)
  })

  for (const [installed, release, revision] of tried) {
    it(`works with ${release} at revision ${revision}`, async () => {
      const sdk = await loadSdk(installed, specifier => import(specifier))
      const open = (url: URL) => ({
        client: new sdk.Client({ name: `sdk ${release}`, version: release }, { capabilities: {} }),
        transport: new sdk.StreamableHTTPClientTransport(url),
      })
      await runScenario(prepared, open, { revision })
    })
  }
})
