import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import * as face from '../../../../src/index.ts'
import { startStubbedFixture } from '../../../conformance/fixture.ts'
import { stub } from '../../../conformance/stub.ts'
import { missingCapabilities } from '../../../../src/server/mcp/stateless/endpoint.ts'
import { metaKeys } from '../../../../src/lib/mcp/request-metadata.ts'
import { ask } from '../../../helpers/mcp.ts'

function callTool(name: string, capabilities: object = {}) {
  return modernPost('tools/call', { name }, capabilities)
}

function modernPost(method: string, params: Record<string, unknown> = {}, capabilities = {}) {
  const _meta = {
    [metaKeys.protocolVersion]: '2026-07-28',
    [metaKeys.clientCapabilities]: capabilities,
  }
  const named: Record<string, string> =
    typeof params.name === 'string' ? { 'Mcp-Name': params.name } : {}
  return {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      'MCP-Protocol-Version': '2026-07-28',
      'Mcp-Method': method,
      ...named,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } }),
  }
}

describe('extra methods', () => {
  it('are served, and advertised, where an endpoint was given some', async () => {
    const fixture = await startStubbedFixture()
    try {
      const listed = await ask(fixture.url, modernPost('tools/list'))
      expect(listed.json.result.tools).to.have.length(3)
      expect(listed.json.result.resultType).to.equal('complete')
      const found = await ask(fixture.url, modernPost('server/discover'))
      expect(found.json.result.capabilities).to.include.all.keys('resources', 'tools', 'prompts')
      const refused = await ask(fixture.url, callTool('test_missing_capability'))
      expect(refused.status).to.equal(400)
      expect(refused.json.error).to.include({ code: -32021 })
      expect(refused.json.error.data).to.deep.equal({ requiredCapabilities: { sampling: {} } })
      const served = await ask(fixture.url, callTool('test_missing_capability', { sampling: {} }))
      expect(served.status).to.equal(200)
      expect(served.json.result.content).to.have.length(1)
    } finally {
      await fixture.stop()
    }
  })

  it('cannot be given to a server of the package', async () => {
    const smuggled = { extraMethods: stub, stub } as object
    expect(() => new face.McpHttpServer(smuggled)).to.throw('unknown member')
    const server = new face.McpHttpServer({}, smuggled)
    const { url } = await server.start()
    try {
      const tools = await ask(url, modernPost('tools/list'))
      expect(tools.json.result.tools).to.deep.equal([])
      const { status, json } = await ask(url, modernPost('prompts/list'))
      expect(status).to.equal(404)
      expect(json.error.code).to.equal(-32601)
      const found = await ask(url, modernPost('server/discover'))
      expect(Object.keys(found.json.result.capabilities)).to.have.members([
        'resources',
        'completions',
      ])
    } finally {
      await server.stop()
    }
  })

  it('are no part of what the package exports', () => {
    const read = (path: string) =>
      readFileSync(new URL(`../../../../${path}`, import.meta.url), 'utf8')
    expect(read('src/index.ts')).not.to.match(/extra-methods|ExtraMethod|mcp\/endpoint/)
    expect(Object.keys(JSON.parse(read('package.json')).exports)).to.deep.equal([
      '.',
      './package.json',
    ])
  })
})

describe('missingCapabilities', () => {
  const declared = (capabilities: unknown) => ({
    _meta: { [metaKeys.clientCapabilities]: capabilities },
  })
  const cases: [string, object, object, object | null][] = [
    ['nothing needed', {}, declared({}), null],
    ['what is needed is there', { sampling: {} }, declared({ sampling: {}, roots: {} }), null],
    ['one of two', { sampling: {}, roots: {} }, declared({ roots: {} }), { sampling: {} }],
    ['a name of every object', { toString: {} }, declared({}), { toString: {} }],
    ['capabilities that are none', { roots: {} }, declared('roots'), { roots: {} }],
    ['no _meta', { roots: {} }, {}, { roots: {} }],
  ]
  for (const [what, required, params, missing] of cases) {
    it(`${what}: ${missing === null ? 'nothing' : Object.keys(missing).join()} is missing`, () => {
      const error = missingCapabilities({ ...required }, { ...params })
      expect(error?.data?.requiredCapabilities ?? null).to.deep.equal(missing)
    })
  }
})
