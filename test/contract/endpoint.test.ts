import { expect } from 'chai'
import { AuditLog, ResourceNotFound, type ResourceProducer } from '../../src/index.ts'
import { ask, initializeBody, postHeaders, RawSession, rpc, startServer } from '../helpers/mcp.ts'
import { facts, failure, listedUris, listening, serving } from './facts.ts'

const scene = 'scene://current'

/** A producer as the contract describes it; counts what it is asked. */
function producer(): ResourceProducer & { lists: number } {
  return {
    lists: 0,
    scheme: 'notes',
    list() {
      this.lists++
      return [
        { uri: 'notes://a', name: 'A' },
        { uri: 'notes://b', name: 'B', description: 'the second', mimeType: 'text/markdown' },
      ]
    },
    read(uri) {
      if (uri === 'notes://a') return [{ uri, text: 'plain' }]
      if (uri !== 'notes://b') throw new ResourceNotFound(uri)
      return [
        { uri, mimeType: 'text/markdown', text: '# b' },
        { uri: 'notes://b/2', mimeType: 'text/plain', text: 'part two' },
      ]
    },
  }
}

facts('specification: MCP server endpoint', [
  [
    'POST /mcp takes JSON-RPC 2.0 with jsonrpc, id, method and optional params',
    () =>
      serving(async ({ session }) => {
        const answer = await session.post(rpc('resources/list', undefined, 'a-7'))
        expect(answer.status).to.equal(200)
        expect(answer.headers['content-type']).to.equal('application/json')
        expect(answer.json).to.include({ jsonrpc: '2.0', id: 'a-7' })
        const read = await session.post(rpc('resources/read', { uri: scene }, 8))
        expect(read.json).to.include({ jsonrpc: '2.0', id: 8 })
      }),
  ],
  [
    'the session id is obtained during initialization and sent as Mcp-Session-Id',
    () =>
      serving(async ({ url }) => {
        const post = (headers: Record<string, string>, body: string) =>
          ask(url, { method: 'POST', headers: { ...postHeaders, ...headers }, body })
        const opened = await post({}, initializeBody())
        const id = String(opened.headers['mcp-session-id'])
        expect((await post({ 'Mcp-Session-Id': id }, rpc('ping'))).status).to.equal(200)
        expect((await post({}, rpc('ping'))).status).to.equal(400)
      }),
  ],
  [
    'GET /mcp opens the event stream on which notifications arrive',
    () =>
      serving(({ session, server }) =>
        listening(session, [scene], async events => {
          expect(events.response.headers['content-type']).to.equal('text/event-stream')
          server.resources().setScene({})
          await events.until(() => events.updates.length === 1)
        }),
      ),
  ],
  [
    'DELETE /mcp terminates the session',
    () =>
      serving(async ({ session }) => {
        expect((await session.delete()).status).to.equal(204)
        expect((await session.post(rpc('ping'))).status).to.equal(404)
      }),
  ],
  [
    'initialize advertises resources with subscribe and listChanged',
    () =>
      serving(async ({ url }) => {
        const body = initializeBody('2025-03-26')
        const { json } = await ask(url, { method: 'POST', headers: postHeaders, body })
        const { resources } = json.result.capabilities
        expect(resources).to.deep.equal({ subscribe: true, listChanged: true })
      }),
  ],
])

facts('specification: JSON-RPC methods', [
  [
    'resources/list needs no params and answers an array of descriptors',
    () =>
      serving(async ({ session }) => {
        const { result } = await session.call('resources/list')
        expect(result.resources).to.be.an('array').and.not.to.have.length(0)
      }),
  ],
  [
    'resources/read answers an array of contents; a JSON resource has a JSON string as text',
    () =>
      serving(async ({ session }) => {
        const { result } = await session.call('resources/read', { uri: scene })
        expect(result.contents).to.be.an('array')
        expect(() => JSON.parse(result.contents[0].text)).not.to.throw()
      }),
  ],
  [
    'resources/subscribe and resources/unsubscribe take a uri and are answered',
    () =>
      serving(async ({ session }) => {
        for (const method of ['resources/subscribe', 'resources/unsubscribe']) {
          expect(await session.call(method, { uri: scene })).to.have.property('result')
        }
      }),
  ],
])

const resourceMethods: [string, object][] = [
  ['resources/list', {}],
  ['resources/read', { uri: scene }],
  ['resources/subscribe', { uri: scene }],
  ['resources/unsubscribe', { uri: scene }],
]

facts('specification: Configuration of the resources feature', [
  [
    'enable_resources is on by default: the capability and the built-in resources are there',
    () =>
      serving(async ({ session }) => {
        expect(await listedUris(session)).to.include.members([scene, 'audit://recent'])
      }),
  ],
  [
    'enable_resources false: no capability, and all four methods are −32601',
    () =>
      serving(
        async ({ url, session }) => {
          const body = initializeBody()
          const { json } = await ask(url, { method: 'POST', headers: postHeaders, body })
          expect(json.result.capabilities).not.to.have.property('resources')
          for (const [method, params] of resourceMethods) {
            expect((await failure(session, method, params)).code, method).to.equal(-32601)
          }
        },
        { enableResources: false },
      ),
  ],
  [
    'enable_artefact_resources is off by default: reads are −32002',
    () =>
      serving(async ({ session }) => {
        const uri = `artefact://sha256/${'a'.repeat(64)}`
        expect((await failure(session, 'resources/read', { uri })).code).to.equal(-32002)
      }),
  ],
  [
    'the configuration takes a port',
    async () => {
      const first = await startServer()
      const port = Number(new URL(first.url).port)
      await first.stop()
      const second = await startServer({ port })
      try {
        expect(second.url).to.equal(`http://127.0.0.1:${port}/mcp`)
        expect((await fetch(`${second.base}/healthz`)).status).to.equal(200)
      } finally {
        await second.stop()
      }
    },
  ],
])

facts('library face: a server is started once', [
  [
    'a second start throws, and so does a start after stop, which would push nothing',
    () =>
      serving(async ({ server }) => {
        const again = () => server.start().catch((error: Error) => error.message)
        expect(await again()).to.match(/started already/)
        await server.stop()
        expect(await again()).to.match(/make a new one/)
      }),
  ],
])

facts('specification: Custom producer contract', [
  [
    'list gives descriptors of its scheme with optional description and MIME type',
    () =>
      serving(
        async ({ session }) => {
          const { result } = await session.call('resources/list')
          const own = result.resources.filter((each: any) => each.uri.startsWith('notes:'))
          expect(own).to.deep.equal([
            { uri: 'notes://a', name: 'A' },
            { uri: 'notes://b', name: 'B', description: 'the second', mimeType: 'text/markdown' },
          ])
        },
        {},
        server => server.resources().addProducer(producer()),
      ),
  ],
  [
    'read gives a list of contents with uri, text and MIME type, also when the producer names none',
    () =>
      serving(
        async ({ session }) => {
          const one = await session.call('resources/read', { uri: 'notes://a' })
          expect(one.result.contents).to.deep.equal([
            { uri: 'notes://a', mimeType: 'text/plain', text: 'plain' },
          ])
          const two = await session.call('resources/read', { uri: 'notes://b' })
          expect(two.result.contents).to.deep.equal([
            { uri: 'notes://b', mimeType: 'text/markdown', text: '# b' },
            { uri: 'notes://b/2', mimeType: 'text/plain', text: 'part two' },
          ])
        },
        {},
        server => server.resources().addProducer(producer()),
      ),
  ],
  [
    'a not-found error of the producer reaches the client as such',
    () =>
      serving(
        async ({ session }) => {
          const error = await failure(session, 'resources/read', { uri: 'notes://c' })
          expect(error).to.deep.include({ code: -32002, data: { uri: 'notes://c' } })
        },
        {},
        server => server.resources().addProducer(producer()),
      ),
  ],
  [
    'producers and the audit log are wired before start, not after',
    () =>
      serving(async ({ server }) => {
        expect(() => server.resources().addProducer(producer())).to.throw(/before/)
        expect(() => server.resources().wireAuditLog(new AuditLog())).to.throw(/before/)
      }),
  ],
  [
    'list runs when a client reconnects',
    () => {
      const own = producer()
      return serving(
        async ({ url }) => {
          for (let n = 1; n <= 3; n++) {
            await (await RawSession.open(url)).call('resources/list')
            expect(own.lists).to.equal(n)
          }
        },
        {},
        server => server.resources().addProducer(own),
      )
    },
  ],
])
