import { execFile } from 'node:child_process'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import type { McpHttpServer } from '../../src/server/mcp-http-server.ts'
import { createFixture } from './fixture.ts'

interface Run {
  revision: string
  selection: string[]
  /** Scenarios that must be among those run: a suite that selects nothing passes too. */
  scenarios: string[]
}

const resourceScenarios = [
  'server-initialize',
  'ping',
  'resources-list',
  'resources-read-text',
  'resources-read-binary',
  'resources-templates-read',
  'resources-subscribe',
  'resources-unsubscribe',
]

const runs: Run[] = [
  {
    revision: '2025-11-25',
    selection: ['--requirements', '2025-11-25'],
    scenarios: [...resourceScenarios, 'server-sse-multiple-streams', 'dns-rebinding-protection'],
  },
  {
    revision: '2025-06-18',
    selection: ['--suite', 'all', '--spec-version', '2025-06-18'],
    scenarios: [...resourceScenarios, 'server-session-lifecycle'],
  },
  {
    revision: '2025-03-26',
    selection: ['--suite', 'all', '--spec-version', '2025-03-26'],
    scenarios: ['server-session-lifecycle'],
  },
]

const here = dirname(fileURLToPath(import.meta.url))
const require = createRequire(import.meta.url)
const suite = join(
  dirname(require.resolve('@modelcontextprotocol/conformance/package.json')),
  'dist',
  'index.js',
)

describe('the official conformance suite', function () {
  this.timeout(120_000)
  let server: McpHttpServer
  let url: string
  let results: string

  before(async () => {
    results = await mkdtemp(join(tmpdir(), 'service-cli-conformance-'))
    server = createFixture()
    url = (await server.start()).url
  })
  after(async () => {
    await server?.stop()
    await rm(results, { recursive: true, force: true })
  })

  for (const { revision, selection, scenarios } of runs) {
    it(`passes at ${revision} but for what a server of resources does not offer`, async () => {
      const output = join(results, revision)
      const baseline = join(here, `expected-failures-${revision}.yaml`)
      const { code, text } = await run(
        ['server', '--url', url, ...selection, '--expected-failures', baseline, '-o', output],
        results,
      )
      expect(code, text).to.equal(0)
      const ran = (await readdir(output)).join(' ')
      for (const scenario of scenarios) expect(ran).to.include(`server-${scenario}-20`)
    })
  }
})

function run(args: string[], home: string): Promise<{ code: number | string; text: string }> {
  const env = { ...process.env, HOME: home, NO_COLOR: '1' }
  return new Promise(resolve => {
    execFile(
      process.execPath,
      [suite, ...args],
      { cwd: home, env, timeout: 100_000, maxBuffer: 64 * 1024 * 1024 },
      (error, stdout, stderr) => resolve({ code: error?.code ?? 0, text: stdout + stderr }),
    )
  })
}
