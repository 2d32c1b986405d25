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

describe('the list of tools', () => {
  let serve: RunningServe
  let tools: readonly Listed[]
  before(async () => {
    serve = await serveInProcess()
    tools = (await callStateless(serve.url, 'tools/list')).json.result.tools
  })
  after(() => serve.stop())

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
