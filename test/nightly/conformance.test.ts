import { join } from 'node:path'
import { expect } from 'chai'
import type { McpHttpServer } from '../../src/server/mcp-http-server.ts'
import { createFixture } from '../conformance/fixture.ts'
import { baselineOf, readChecks, resourceScenarios, runSuite } from '../conformance/suite.ts'
import { newFolder } from '../helpers/cleanup.ts'

interface Run {
  revision: string
  selection: string[]
  /** Scenarios that must be among those run: a suite that selects nothing passes too. */
  scenarios: string[]
}

const sessionScenarios = [
  ...resourceScenarios,
  'server-initialize',
  'ping',
  'resources-subscribe',
  'resources-unsubscribe',
]

const runs: Run[] = [
  {
    revision: '2025-11-25',
    selection: ['--requirements', '2025-11-25'],
    scenarios: [...sessionScenarios, 'server-sse-multiple-streams', 'dns-rebinding-protection'],
  },
  {
    revision: '2025-06-18',
    selection: ['--suite', 'all', '--spec-version', '2025-06-18'],
    scenarios: [...sessionScenarios, 'server-session-lifecycle'],
  },
  {
    revision: '2025-03-26',
    selection: ['--suite', 'all', '--spec-version', '2025-03-26'],
    scenarios: ['server-session-lifecycle'],
  },
]

describe('the official conformance suite of older revisions', () => {
  let server: McpHttpServer
  let url: string
  let results: string

  before(async () => {
    results = newFolder()
    server = createFixture()
    url = (await server.start()).url
  })
  after(async () => {
    await server?.stop()
  })

  for (const { revision, selection, scenarios } of runs) {
    it(`passes at ${revision} but for what a server that only reads does not offer`, async () => {
      const output = join(results, revision)
      const args = [...selection, '--expected-failures', baselineOf(revision), '-o', output]
      const { code, text } = await runSuite(url, args, results)
      expect(code, text).to.equal(0)
      expect([...(await readChecks(output)).keys()]).to.include.members(scenarios)
    })
  }
})
