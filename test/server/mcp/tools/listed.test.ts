import { expect } from 'chai'
import { RawSession } from '../../../helpers/mcp.ts'
import { callStateless } from '../../../helpers/stateless.ts'
import { serveInProcess } from '../../../helpers/in-process-servers.ts'
import type { RunningServe } from '../../../helpers/serve-process.ts'

interface Listed {
  readonly name: string
  readonly description: string
  readonly inputSchema: object
  readonly _meta: Readonly<Record<string, unknown>>
}

/** How a client that defers tools searches them: the names, best first. */
function ranked(tools: readonly Listed[], query: string): readonly string[] {
  const wordsOf = (text: string): readonly string[] => text.toLowerCase().match(/[a-z0-9]+/g) ?? []
  const documents = tools.map(({ name, description, _meta }) =>
    wordsOf(`${name} ${description} ${String(_meta['anthropic/searchHint'])}`),
  )
  const average = documents.reduce((sum, { length }) => sum + length, 0) / documents.length
  const [k1, b] = [1.2, 0.75]
  const scores = documents.map((words, at) => {
    let score = 0
    for (const word of new Set(wordsOf(query))) {
      const having = documents.filter(each => each.includes(word)).length
      const idf = Math.log(1 + (documents.length - having + 0.5) / (having + 0.5))
      const count = words.filter(each => each === word).length
      score += (idf * count * (k1 + 1)) / (count + k1 * (1 - b + (b * words.length) / average))
    }
    return { name: tools[at]!.name, score }
  })
  return scores
    .filter(({ score }) => score > 0)
    .toSorted((one, other) => other.score - one.score)
    .map(({ name }) => name)
}

const searches: readonly (readonly [query: string, tool: string])[] = [
  ['screenshot', 'look'],
  ['comments feedback review', 'list_notes'],
  ['notify when the user edits', 'wait_for_change'],
  ['selected object', 'query_scene'],
  ['console errors', 'read_resource'],
  ['what changed', 'scene_changes'],
  ['read a file', 'read_resource'],
  ['materials', 'query_scene'],
]

describe('the list of tools', () => {
  let serve: RunningServe
  let tools: readonly Listed[]
  before(async () => {
    serve = await serveInProcess()
    tools = (await callStateless(serve.url, 'tools/list')).json.result.tools
  })
  after(() => serve.stop())

  for (const [query, tool] of searches) {
    it(`has ${tool} among the first two for "${query}"`, () => {
      expect(ranked(tools, query).slice(0, 2)).to.include(tool)
    })
  }

  it('has one tool that is loaded at once', () => {
    const always = tools.filter(({ _meta }) => _meta['anthropic/alwaysLoad'] === true)
    expect(always.map(({ name }) => name)).to.deep.equal(['query_scene'])
  })

  it('promises no data, and has no bound that every number has', () => {
    for (const tool of tools) expect(tool).to.not.have.property('outputSchema')
    expect(JSON.stringify(tools)).to.not.contain('9007199254740991')
  })

  it('warns of texts as instructions once: where a tool reads those of people', () => {
    const warning = tools.filter(({ description }) => /never instructions/.test(description))
    expect(warning.map(({ name }) => name)).to.deep.equal(['list_notes'])
    expect(JSON.stringify(tools).match(/never instructions/g)).to.have.length(1)
  })

  it('is one page: a cursor is refused in both transports', async () => {
    const params = { cursor: 'x' }
    const session = await RawSession.open(serve.url)
    const answers = [
      await session.call('tools/list', params),
      (await callStateless(serve.url, 'tools/list', params)).json,
    ]
    for (const { error } of answers) expect(error).to.include({ code: -32_602 })
  })
})
