import { type Agent, type ClientRequest, request as httpRequest } from 'node:http'
import { once } from 'node:events'
import { expect } from 'chai'
import type { McpHttpServer } from '../../src/server/mcp-http-server.ts'
import { createFixture } from '../conformance/fixture.ts'
import {
  createAgent,
  differing,
  exchange,
  observe,
  type Observation,
  type RawRequest,
} from './answers.ts'
import { httpMethodCases, mediaCases, versionCases } from './cases-http.ts'
import { batchCases, bodyCases, initializeCases, methodCases } from './cases-messages.ts'
import { statelessCases, statelessHeaderCases } from './cases-stateless.ts'
import { explains } from './difference.ts'
import { differences } from './differences.ts'
import { type ReferenceServer, startReference } from './reference-server.ts'
import { bothTypes, type Case, initialize } from './requests.ts'

/** Everything that both servers are asked, by topic. */
const topics: Readonly<Record<string, readonly Case[]>> = {
  'media types': mediaCases,
  'version headers': versionCases,
  bodies: bodyCases,
  methods: methodCases,
  batches: batchCases,
  initialize: initializeCases,
  'HTTP methods': httpMethodCases,
  'requests of 2026-07-28': statelessCases,
  'headers and streams of 2026-07-28': statelessHeaderCases,
}

/** Anything else that is answered otherwise than by the official SDK is a failure. */
const allDifferences = Object.values(differences).flat()

const inFlight = 8

describe('the same raw requests to the official SDK', () => {
  const agents: Agent[] = [createAgent(), createAgent()]
  const used = new Set<(typeof allDifferences)[number]>()
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
    it(`${topic}: ${cases.length} are answered as the SDK answers them, or as listed`, async () => {
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
    const stale = allDifferences.filter(row => !used.has(row))
    expect(stale.map(([requests]) => String(requests))).to.deep.equal([])
  })

  /** Null when both answered alike, or exactly one row says why not. */
  async function compare(one: Case): Promise<string | null> {
    const [mine, other] = await Promise.all([ours.ask(one), theirs.ask(one)])
    if (mine.status === 0 || other.status === 0) return `${one.name}\n  was not answered`
    const fields = differing(mine, other)
    if (fields.length === 0) return null
    const rows = allDifferences.filter(row =>
      explains(row, one.name, { ours: mine, theirs: other }),
    )
    const [row] = rows
    if (row !== undefined) used.add(row)
    if (rows.length === 1) return null
    const shown = (which: Observation) => fields.map(field => `${field} ${which[field]}`).join(', ')
    const found = rows.map(([requests]) => String(requests)).join(', ') || 'no row'
    return `${one.name}\n  ours: ${shown(mine)}\n  SDK:  ${shown(other)}\n  explained by ${found}`
  }
})

/** One of the two servers, with the sessions that its requests need. */
class Party {
  readonly #url: string
  readonly #agent: Agent
  readonly #shared = new Map<string, Promise<string>>()
  readonly #streams: ClientRequest[] = []

  constructor(url: string, agent: Agent) {
    this.#url = url
    this.#agent = agent
  }

  async ask({ method, headers, body, session, revision }: Case): Promise<Observation> {
    const id = await this.#sessionId(session, revision)
    const asked: RawRequest = {
      method,
      headers: id === null ? headers : { ...headers, 'Mcp-Session-Id': id },
      ...(body === undefined ? {} : { body }),
    }
    return observe(await exchange(this.#url, asked, this.#agent), asked)
  }

  close(): void {
    for (const stream of this.#streams) stream.destroy()
  }

  async #sessionId(state: Case['session'], revision: string): Promise<string | null> {
    switch (state) {
      case 'none':
        return null
      case 'unknown':
        return 'never-was-one'
      case 'live':
        return this.#sharedSession(revision)
      case 'own':
        return this.#open(revision)
      case 'ended': {
        const id = await this.#open(revision)
        await this.#send({ method: 'DELETE', headers: { 'Mcp-Session-Id': id } })
        return id
      }
      case 'streaming': {
        const id = await this.#open(revision)
        await this.#openStream(id)
        return id
      }
    }
  }

  #sharedSession(revision: string): Promise<string> {
    let id = this.#shared.get(revision)
    if (id === undefined) this.#shared.set(revision, (id = this.#open(revision)))
    return id
  }

  async #open(protocolVersion: string): Promise<string> {
    const headers = { 'Content-Type': 'application/json', Accept: bothTypes }
    const body = initialize({ protocolVersion })
    const answer = await this.#send({ method: 'POST', headers, body })
    const id = answer?.headers['mcp-session-id']
    if (typeof id !== 'string') throw new Error(`no session: ${answer?.text}`)
    return id
  }

  async #openStream(id: string): Promise<void> {
    const headers = { Accept: 'text/event-stream', 'Mcp-Session-Id': id }
    const req = httpRequest(this.#url, { headers, agent: false })
    req.on('error', () => {})
    req.end()
    this.#streams.push(req)
    await once(req, 'response')
  }

  #send(request: RawRequest) {
    return exchange(this.#url, request, this.#agent)
  }
}
