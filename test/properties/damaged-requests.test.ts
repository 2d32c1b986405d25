import type { Agent } from 'node:http'
import { expect } from 'chai'
import fc from 'fast-check'
import { silentLogger } from '../../src/lib/util/logger.ts'
import { producer } from '../conformance/producer.ts'
import { suiteTools } from '../conformance/tools.ts'
import { RawSession, startServer, type TestServer } from '../helpers/mcp.ts'
import { type Answer, createAgent, exchange, type RawRequest } from '../oracle/answers.ts'
import { httpMethodCases, mediaCases, versionCases } from '../oracle/cases-http.ts'
import { batchCases, bodyCases, initializeCases, methodCases } from '../oracle/cases-messages.ts'
import { statelessCases, statelessHeaderCases } from '../oracle/cases-stateless.ts'
import { replay } from './replay.ts'

const runs = Number(process.env.FUZZ_CASES ?? 100)
/** Requests of one run, under way at the same time. */
const atOnce = 16

const cases = [
  ...[...mediaCases, ...versionCases, ...httpMethodCases],
  ...[...bodyCases, ...methodCases, ...batchCases, ...initializeCases],
  ...[...statelessCases, ...statelessHeaderCases],
]

/** Bytes taken out of a body, and others put in their place. */
const damage = fc.record({
  at: fc.nat(5000),
  cut: fc.nat(8),
  add: fc.oneof(
    fc.constantFrom('', '"', '[', '{', '}', ',', ':', '\\', '\\u0000', '0', '-', '\0', '\xff'),
    fc.constantFrom('['.repeat(70), '"id":1,', '"__proto__":{},', '1e999', '\\ud800'),
    fc.string({ unit: fc.nat(255).map(code => String.fromCharCode(code)), maxLength: 4 }),
  ),
})

/** Characters that a header can carry. */
const headerText = fc.string({
  unit: fc.integer({ min: 0x20, max: 0x7e }).map(code => String.fromCharCode(code)),
  maxLength: 30,
})

const damagedRequest = fc
  .record({
    one: fc.constantFrom(...cases),
    damages: fc.array(damage, { maxLength: 3 }),
    header: fc.option(fc.tuple(fc.nat(), headerText), { freq: 4 }),
  })
  .map(({ one: { method, headers, body, session }, damages, header }) => {
    const names = Object.keys(headers)
    const changed = header === null ? {} : { [names[header[0] % names.length] ?? 'X']: header[1] }
    const changedHeaders = { ...headers, ...changed }
    if (body === undefined) return { method, session, headers: changedHeaders }
    let bytes = Buffer.from(body)
    for (const { at, cut, add } of damages) {
      const start = at % (bytes.length + 1)
      const rest = bytes.subarray(start + cut)
      bytes = Buffer.concat([bytes.subarray(0, start), Buffer.from(add, 'latin1'), rest])
    }
    return { method, session, headers: changedHeaders, body: bytes }
  })

describe(`damaged requests, ${runs} random runs`, function () {
  const budgetMs = 20_000 + runs * 500
  this.timeout(budgetMs + 10_000)
  const errors: object[] = []
  let agent: Agent
  let running: TestServer

  before(async () => {
    agent = createAgent()
    const log = { ...silentLogger, error: (fields: object) => void errors.push(fields) }
    const tools = () => suiteTools
    running = await startServer({ enableTools: true }, { log, tools }, server =>
      server.resources().addProducer(producer),
    )
  })
  after(async () => {
    agent.destroy()
    await running.stop()
  })

  it('are answered in form, with their own id and nothing of another session', async () => {
    const outcomes = new Set<string>()
    await fc.assert(
      fc.asyncProperty(
        fc.array(damagedRequest, { minLength: 1, maxLength: atOnce, size: 'max' }),
        async requests => {
          const { id } = await RawSession.open(running.url)
          const all = requests.map(async ({ session, ...request }) => {
            const headers =
              session === 'none' ? request.headers : { ...request.headers, 'Mcp-Session-Id': id }
            const answer = await exchange(running.url, { ...request, headers }, agent)
            outcomes.add(check(request, answer, id))
          })
          await Promise.all(all)
        },
      ),
      replay(runs, budgetMs),
    )
    expect(errors.slice(0, 3)).to.deep.equal([])
    expect([...outcomes]).to.include.members(['result', 'none', '-32700', '-32600', '-32602'])
    const session = await RawSession.open(running.url)
    expect((await session.call('ping')).result).to.deep.equal({})
  })
})

/** Returns what the answer was: "result", "none", a code, or the method of a message. */
function check({ method, body }: RawRequest, answer: Answer | null, sessionId: string): string {
  const shown = `${method} ${String(body).slice(0, 300)}\n→ ${answer?.status} ${answer?.text}`
  if (answer === null) throw new Error(`not answered: ${shown}`)
  expect(answer.status, shown).to.be.below(500)
  expect(answer.text, shown).not.to.match(/node_modules|file:\/\/\/|\n\s+at |TypeError|RangeError/)
  expect(answer.text, shown).not.to.include(sessionId)
  if (answer.text === '') return 'none'
  // A request whose Host is no name is refused before its path is known.
  if (answer.headers['content-type'] === 'application/problem+json') {
    expect(answer.status, shown).to.equal(400)
    return 'problem'
  }
  const messages = [JSON.parse(answer.text)].flat()
  for (const { jsonrpc, id = null, error, result, method: name } of messages) {
    if (name !== undefined) return name
    expect(jsonrpc, shown).to.equal('2.0')
    expect(error === undefined, shown).to.not.equal(result === undefined)
    if (id !== null) expect(idsIn(body), shown).to.include(id)
    if (error !== undefined) expect(error.message, shown).to.be.a('string').and.not.equal('')
  }
  return 'result' in messages[0] ? 'result' : String(messages[0].error.code)
}

function idsIn(body: RawRequest['body']): unknown[] {
  return [JSON.parse(String(body))].flat().map(message => message?.id)
}
