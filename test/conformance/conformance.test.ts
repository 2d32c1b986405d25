import { join } from 'node:path'
import { expect } from 'chai'
import type { McpHttpServer } from '../../src/server/mcp-http-server.ts'
import { createFixture } from './fixture.ts'
import { baselineOf, readChecks, resourceScenarios, runSuite } from './suite.ts'
import { newFolder } from '../helpers/cleanup.ts'

const results = newFolder()

/** Of 2026-07-28: everything but `excused` passes in these, and at least this many checks. */
const whole: Readonly<Record<string, number>> = {
  'server-stateless': 26,
  caching: 7,
  'tools-list': 4,
  'tools-call-simple-text': 2,
  'tools-call-image': 2,
  'tools-call-error': 2,
  'tools-call-with-progress': 2,
  'http-header-validation': 14,
  'server-sse-multiple-streams': 1,
  'dns-rebinding-protection': 2,
  'sep-2164-resource-not-found': 4,
  ...Object.fromEntries(resourceScenarios.map(scenario => [scenario, 2])),
}

/** Their reasons stand in the list of expected failures. */
const excused = [
  'sep-2575-server-rejects-undeclared-capability',
  'sep-2575-missing-capability-http-400',
  'sep-2549-prompts-list-caching-hints',
]

/** The older revisions: test/nightly. */
describe('the official conformance suite', function () {
  this.timeout(120_000)
  let server: McpHttpServer
  let url: string

  before(async () => {
    server = createFixture()
    url = (await server.start()).url
  })
  after(() => server?.stop())

  it('passes at 2026-07-28 but for what a server that only reads does not offer', async () => {
    const output = join(results, '2026-07-28')
    const baseline = ['--expected-failures', baselineOf('2026-07-28')]
    const args = ['--requirements', '2026-07-28', ...baseline, '-o', output]
    const { code, text } = await runSuite(url, args, results)
    expect(code, text).to.equal(0)
    const checks = await readChecks(output)
    for (const [scenario, least] of Object.entries(whole)) {
      const made = checks.get(scenario) ?? []
      const failed = made
        .filter(({ status }) => status === 'FAILURE' || status === 'WARNING')
        .filter(({ id }) => !excused.includes(id))
      expect(failed, scenario).to.deep.equal([])
      const passed = made.filter(({ status }) => status === 'SUCCESS')
      expect(passed.length, scenario).to.be.at.least(least)
    }
  })
})
