import { expect } from 'chai'
import { serveInProcess } from '../../helpers/in-process-servers.ts'
import {
  type Answer,
  ask,
  initializeBody,
  postHeaders,
  RawSession,
  rpc,
} from '../../helpers/mcp.ts'
import { callStateless, statelessHeaders, statelessMeta } from '../../helpers/stateless.ts'
import type { RunningServe } from '../../helpers/serve-process.ts'

/** `String` throws for it. */
const hostile = { toString: 0, valueOf: 0 }
const wrongTypes = [0, 1.5, true, [], {}, [[]], [hostile], hostile, { a: hostile }]

type Params = Record<string, any>

const ref = { type: 'ref/resource', uri: 'artefact://sha256/{hex}' }
const argument = { name: 'hex', value: '' }

/** A method, its params with the wrong value, and the types that are right. */
const members: [string, (value: unknown) => Params, ((value: unknown) => boolean)?][] = [
  ['tools/call', name => ({ name, arguments: {} })],
  ['tools/call', args => ({ name: 'query_scene', arguments: args }), isObject],
  ['tools/call', uri => ({ name: 'read_resource', arguments: { uri } })],
  ['tools/call', uris => ({ name: 'wait_for_change', arguments: { uris } }), isEmptyList],
  ['tools/call', uri => ({ name: 'wait_for_change', arguments: { uris: [uri] } })],
  ['tools/call', uri => ({ name: uri, arguments: { uris: [uri, uri] } })],
  ['resources/read', uri => ({ uri })],
  ['resources/subscribe', uri => ({ uri })],
  ['resources/unsubscribe', uri => ({ uri })],
  ['resources/list', cursor => ({ cursor })],
  ['resources/templates/list', cursor => ({ cursor })],
  ['prompts/get', name => ({ name })],
  ['prompts/get', args => ({ arguments: args })],
  ['logging/setLevel', level => ({ level })],
  ['completion/complete', value => ({ ref: value, argument })],
  ['completion/complete', type => ({ ref: { ...ref, type }, argument })],
  ['completion/complete', uri => ({ ref: { ...ref, uri }, argument })],
  ['completion/complete', value => ({ ref, argument: value })],
  ['completion/complete', name => ({ ref, argument: { ...argument, name } })],
  ['completion/complete', value => ({ ref, argument: { ...argument, value } })],
  ['completion/complete', context => ({ ref, argument, context }), isObject],
  ['completion/complete', args => ({ ref, argument, context: { arguments: args } }), isEmptyObject],
  ['completion/complete', value => ({ ref, argument, context: { arguments: { a: value } } })],
]

const streamed: [string, (value: unknown) => Params][] = [
  ['subscriptions/listen', notifications => ({ notifications: [notifications] })],
  ['subscriptions/listen', value => ({ notifications: { resourcesListChanged: [value] } })],
  ['subscriptions/listen', value => ({ notifications: { resourceSubscriptions: [value] } })],
]

describe('members of the wrong type', () => {
  let serve: RunningServe
  before(async () => {
    serve = await serveInProcess()
  })
  after(() => serve.stop())
  afterEach('logs no error', () => {
    expect(serve.output().stderr).to.not.match(/"level":"(error|warn)"/)
  })

  for (const revision of ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']) {
    it(`are refused as invalid params in a session of ${revision}`, async () => {
      const session = await RawSession.open(serve.url, revision)
      for (const [method, params, value] of cases(members)) {
        expectRefused(await session.post(rpc(method, params(value))), [method, value])
      }
    })
  }

  it('are refused one by one in a batch', async () => {
    const session = await RawSession.open(serve.url, '2025-03-26')
    for (const [method, params, value] of cases(members)) {
      const answer = await session.post(`[${rpc(method, params(value))},${rpc('ping', {}, 2)}]`)
      const [refused, pong] = answer.json
      expectRefused({ ...answer, json: refused }, [method, value])
      expect(pong).to.deep.equal({ jsonrpc: '2.0', id: 2, result: {} })
    }
  })

  it('are refused as invalid params in requests of 2026-07-28', async () => {
    for (const [method, params, value] of cases([...members, ...streamed])) {
      expectRefused(await callStateless(serve.url, method, params(value)), [method, value])
    }
  })

  it('are refused in the metadata of 2026-07-28', async () => {
    for (const member of ['protocolVersion', 'clientInfo', 'clientCapabilities', 'logLevel']) {
      for (const value of wrongTypes) {
        if (member === 'clientCapabilities' && isObject(value)) continue
        const params = { uri: 'scene://current', _meta: statelessMeta({ [member]: value }) }
        const headers = statelessHeaders('resources/read', params)
        const body = rpc('resources/read', params)
        const answer = await ask(serve.url, { method: 'POST', headers, body })
        expectRefused(answer, [member, value])
      }
    }
  })

  it('are refused in initialize, and a name in clientInfo counts as unknown', async () => {
    const right = JSON.parse(initializeBody()).params
    const initialize = (params: Params) =>
      ask(serve.url, { method: 'POST', headers: postHeaders, body: rpc('initialize', params) })
    for (const member of ['protocolVersion', 'capabilities', 'clientInfo']) {
      for (const value of wrongTypes) {
        if (member !== 'protocolVersion' && isObject(value)) continue
        expectRefused(await initialize({ ...right, [member]: value }), [member, value])
      }
    }
    for (const value of wrongTypes) {
      const clientInfo = { name: value, title: value, version: value }
      const { status } = await initialize({ ...right, clientInfo })
      expect(status).to.equal(200)
    }
    const session = await RawSession.open(serve.url)
    const { clients } = await session.readJson('server://clients')
    expect(clients.map(({ name }: Params) => name)).to.include('unknown')
  })
})

function* cases(all: typeof members): Generator<[string, (value: unknown) => Params, unknown]> {
  for (const [method, params, isRight = () => false] of all) {
    for (const value of wrongTypes) if (!isRight(value)) yield [method, params, value]
  }
}

/** Invalid params, no such method, or a result that tells the model of it. */
function expectRefused({ status, json, text }: Answer, about: unknown): void {
  const what = `${JSON.stringify(about)}: ${status} ${text}`
  expect(status, what).to.be.oneOf([200, 400, 404])
  if (json.result !== undefined) {
    expect(json.result.isError, what).to.equal(true)
    expect(json.result.content[0].text, what).to.match(/^argument_invalid: /)
  } else expect(json.error.code, what).to.be.oneOf([-32_602, -32_601])
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && !Array.isArray(value)
}

function isEmptyObject(value: unknown): boolean {
  return isObject(value) && Object.keys(value as object).length === 0
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0
}
