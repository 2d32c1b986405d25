import { expect } from 'chai'
import { ask, initializeBody, postHeaders, RawSession, rpc, startServer } from '../helpers/mcp.ts'
import { audit, failure, listedUris, listen, scene, useServer } from './support.ts'

const resourceMethods: [string, object][] = [
  ['resources/list', {}],
  ['resources/read', { uri: scene }],
  ['resources/subscribe', { uri: scene }],
  ['resources/unsubscribe', { uri: scene }],
]

async function capabilities(url: string, revision?: string): Promise<any> {
  const body = initializeBody(revision)
  const { json } = await ask(url, { method: 'POST', headers: postHeaders, body })
  return json.result.capabilities
}

describe('/mcp', () => {
  const section = useServer()

  it('answers JSON-RPC 2.0 with jsonrpc, id, method and optional params', async () => {
    const answer = await section.session.post(rpc('resources/list', undefined, 'a-7'))
    expect(answer.status).to.equal(200)
    expect(answer.headers['content-type']).to.equal('application/json')
    expect(answer.json).to.include({ jsonrpc: '2.0', id: 'a-7' })
    const read = await section.session.post(rpc('resources/read', { uri: scene }, 8))
    expect(read.json).to.include({ jsonrpc: '2.0', id: 8 })
  })

  it('opens the stream of notifications for GET', async () => {
    const events = await listen(section.session, scene)
    expect(events.response.headers['content-type']).to.equal('text/event-stream')
    section.server.resources().setScene({})
    await events.until(() => events.updates.length === 1)
  })

  it('advertises resources with subscribe and listChanged, and serves them by default', async () => {
    const { resources } = await capabilities(section.url, '2025-03-26')
    expect(resources).to.deep.equal({ subscribe: true, listChanged: true })
    expect(await listedUris(section.session)).to.include.members([scene, audit])
    for (const [method, params] of resourceMethods) {
      expect(await section.session.call(method, params), method).to.have.property('result')
    }
  })

  it('speaks revision 2025-03-26', async () => {
    const session = await RawSession.open(section.url, '2025-03-26')
    const events = await listen(session, scene)
    section.server.resources().setScene({ n: 1 })
    await events.until(() => events.updates.length === 1)
    expect(await session.readJson(scene)).to.deep.equal({ n: 1 })
  })

  it('refuses a missing or malformed uri with −32602', async () => {
    for (const params of [undefined, {}, { uri: 'no scheme' }, { uri: '' }]) {
      for (const [method] of resourceMethods.slice(1)) {
        expect((await failure(section.session, method, params)).code, method).to.equal(-32602)
      }
    }
  })
})

describe('/mcp with enableResources false', () => {
  const section = useServer({ enableResources: false })

  it('advertises no resources, and all four methods are −32601', async () => {
    expect(await capabilities(section.url)).not.to.have.property('resources')
    for (const [method, params] of resourceMethods) {
      expect((await failure(section.session, method, params)).code, method).to.equal(-32601)
    }
  })
})

describe('a server of the library', () => {
  it('listens on the port of its configuration', async () => {
    const first = await startServer()
    const port = Number(new URL(first.url).port)
    await first.stop()
    const second = await startServer({ port })
    expect(second.url).to.equal(`http://127.0.0.1:${port}/mcp`)
    expect((await ask(`${second.base}/healthz`)).status).to.equal(200)
    await second.stop()
  })

  it('is started once', async () => {
    const { server } = await startServer()
    const again = () => server.start().catch((error: Error) => error.message)
    expect(await again()).to.match(/is served once/)
    await server.stop()
    expect(await again()).to.match(/make a new one/)
  })
})
