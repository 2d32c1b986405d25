import { readFileSync } from 'node:fs'
import type { Agent } from 'node:http'
import { expect } from 'chai'
import type { McpHttpServer } from '../../src/server/mcp/mcp-http-server.ts'
import { createFixture } from '../conformance/fixture.ts'
import type { Case } from './case.ts'
import { topics } from './cases/index.ts'
import { explains } from './difference.ts'
import { differences } from './differences.ts'
import { createAgent } from './exchange.ts'
import { differing, type Observation } from './observation.ts'
import { Party } from './party.ts'
import { type ReferenceServer, startReference } from './reference-server.ts'

const inFlight = 8
const docs = readFileSync(new URL('../../docs/protocol.md', import.meta.url), 'utf8')

describe('the same raw requests to the official SDK', () => {
  const agents: Agent[] = [createAgent(), createAgent()]
  const used = new Set<(typeof differences)[number]>()
  const seen = { statuses: new Set<number>(), codes: new Set<string>() }
  let product: McpHttpServer
  let reference: ReferenceServer
  let ours: Party
  let theirs: Party

  before(async () => {
    product = createFixture()
    reference = await startReference()
    const [ourAgent, theirAgent] = agents as [Agent, Agent]
    ours = new Party((await product.start()).url, ourAgent)
    theirs = new Party(reference.url, theirAgent)
  })
  after(async () => {
    for (const party of [ours, theirs]) party?.close()
    for (const agent of agents) agent.destroy()
    await reference?.close()
    await product?.stop()
  })

  for (const [topic, cases] of Object.entries(topics)) {
    it(`${topic}: ${cases.length} are answered as the SDK answers them, or as documented`, async () => {
      const unexplained: string[] = []
      const queue = cases.values()
      const work = async () => {
        for (const one of queue) {
          const complaint = await compare(one)
          if (complaint !== null) unexplained.push(complaint)
        }
      }
      await Promise.all(Array.from({ length: inFlight }, work))
      expect(unexplained.join('\n')).to.equal('')
    })
  }

  it('uses every row of the table', () => {
    const stale = differences.filter(row => !used.has(row))
    expect(stale.map(({ anchor, requests }) => `${anchor}: ${requests}`)).to.deep.equal([])
  })

  it('meets every status and code that the revisions know for a server of resources', () => {
    const statuses = [200, 202, 204, 400, 403, 404, 405, 406, 413, 415]
    const codes = [-32700, -32600, -32601, -32602, -32000, -32001, -32002, -32020, -32022]
    expect([...seen.statuses]).to.include.members(statuses)
    expect([...seen.codes]).to.include.members(codes.map(String))
  })

  it('asks at least 300 different things', () => {
    const names = Object.values(topics).flatMap(cases => cases.map(({ name }) => name))
    expect(new Set(names).size).to.equal(names.length).and.to.be.at.least(300)
  })

  it('has one line in the documentation for each difference, with its source', () => {
    const lines = docs.split('\n').filter(line => line.includes('<a id="sdk-'))
    const documented = lines.map(line => /<a id="(sdk-[a-z-]+)">/.exec(line)?.[1])
    const anchors = new Set(differences.map(({ anchor }) => anchor))
    expect(documented.toSorted()).to.deep.equal([...anchors].toSorted())
    for (const line of lines) {
      expect(line).to.match(/(M (20\d\d-\d\d-\d\d|all)|RFC \d+|JSON-RPC 2\.0)[^|]*\|$/)
    }
  })

  /** Null when both answered alike, or exactly one row says why not. */
  async function compare(one: Case): Promise<string | null> {
    const [mine, other] = await Promise.all([ours.ask(one), theirs.ask(one)])
    seen.statuses.add(mine.status)
    if (mine.code !== null) seen.codes.add(mine.code)
    if (mine.status === 0 || other.status === 0) return `${one.name}\n  was not answered`
    const fields = differing(mine, other)
    if (fields.length === 0) return null
    const rows = differences.filter(row => explains(row, one.name, { ours: mine, theirs: other }))
    const [row] = rows
    if (row !== undefined) used.add(row)
    if (rows.length === 1) return null
    const shown = (which: Observation) => fields.map(field => `${field} ${which[field]}`).join(', ')
    const found = rows.map(({ anchor }) => anchor).join(', ') || 'no row'
    return `${one.name}\n  ours: ${shown(mine)}\n  SDK:  ${shown(other)}\n  explained by ${found}`
  }
})
