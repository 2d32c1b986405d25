import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import type { McpHttpServer } from '../../src/server/mcp/mcp-http-server.ts'
import { createFixture, type StubbedFixture, startStubbedFixture } from './fixture.ts'
import { baselineOf, readChecks, resourceScenarios, runSuite } from './suite.ts'

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

/** The older revisions and more tools: test/nightly. */
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

  it('passes tools-call-with-progress at 2026-07-28', async () => {
    const args = ['--scenario', 'tools-call-with-progress', '--spec-version', '2026-07-28']
    const { code, text } = await runSuite(url, args, results)
    expect(code, text).to.equal(0)
    expect(text).to.match(/Passed: [1-9]/)
  })
})
