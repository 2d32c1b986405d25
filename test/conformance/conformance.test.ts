import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import type { McpHttpServer } from '../../src/server/mcp/mcp-http-server.ts'
import { createFixture, type StubbedFixture, startStubbedFixture } from './fixture.ts'
import { readChecks, runSuite } from './suite.ts'

interface Run {
  revision: string
  selection: string[]
  /** Scenarios that must be among those run: a suite that selects nothing passes too. */
  scenarios: string[]
}

const resourceScenarios = [
  'resources-list',
  'resources-read-text',
  'resources-read-binary',
  'resources-templates-read',
]
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

/** Of 2026-07-28: everything in these passes, and this many checks at least are made. */
const whole: Readonly<Record<string, number>> = {
  'server-stateless': 28,
  caching: 8,
  'http-header-validation': 14,
  'server-sse-multiple-streams': 1,
  'dns-rebinding-protection': 2,
  'sep-2164-resource-not-found': 4,
  ...Object.fromEntries(resourceScenarios.map(scenario => [scenario, 2])),
}

const here = dirname(fileURLToPath(import.meta.url))
const baselineOf = (revision: string) => join(here, `expected-failures-${revision}.yaml`)

describe('the official conformance suite', function () {
  this.timeout(120_000)
  let server: McpHttpServer
  let url: string
  let stubbed: StubbedFixture
  let results: string

  before(async () => {
    results = await mkdtemp(join(tmpdir(), 'service-cli-conformance-'))
    server = createFixture()
    url = (await server.start()).url
    stubbed = await startStubbedFixture()
  })
  after(async () => {
    await stubbed?.stop()
    await server?.stop()
    await rm(results, { recursive: true, force: true })
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

  it('passes at 2026-07-28 but for what a server that only reads does not offer', async () => {
    const output = join(results, '2026-07-28')
    const baseline = ['--expected-failures', baselineOf('2026-07-28')]
    const args = ['--requirements', '2026-07-28', ...baseline, '-o', output]
    const { code, text } = await runSuite(stubbed.url, args, results)
    expect(code, text).to.equal(0)
    const checks = await readChecks(output)
    for (const [scenario, least] of Object.entries(whole)) {
      const made = checks.get(scenario) ?? []
      const failed = made.filter(({ status }) => status === 'FAILURE' || status === 'WARNING')
      expect(failed, scenario).to.deep.equal([])
      const passed = made.filter(({ status }) => status === 'SUCCESS')
      expect(passed.length, scenario).to.be.at.least(least)
    }
  })

  for (const scenario of ['simple-text', 'image', 'error', 'with-progress']) {
    it(`passes tools-call-${scenario} at 2026-07-28`, async () => {
      const args = ['--scenario', `tools-call-${scenario}`, '--spec-version', '2026-07-28']
      const { code, text } = await runSuite(url, args, results)
      expect(code, text).to.equal(0)
      expect(text).to.match(/Passed: [1-9]/)
    })
  }

  it('passes the rules for headers, which no required set counts yet', async () => {
    const args = ['--scenario', 'http-header-validation', '--spec-version', '2026-07-28']
    const { code, text } = await runSuite(stubbed.url, args, results)
    expect(code, text).to.equal(0)
    expect(text).to.match(/Passed: 14\/14/)
  })
})
