import { expect } from 'chai'
import {
  artefactPutBytes,
  type Descriptor,
  type ResourceProducer,
  SessionEventBuffer,
} from '../../../src/index.ts'
import { facts, failure, inFolder, listAll, listedUris, listening, serving } from '../facts.ts'

function many(scheme: string, count: number): ResourceProducer {
  const list: Descriptor[] = Array.from({ length: count }, (_, n) => ({
    uri: `${scheme}://${n}`,
    name: `${n}`,
  }))
  return {
    scheme,
    list: () => list,
    read: uri => [{ uri, text: '' }],
    templates: () => [{ uriTemplate: `${scheme}://{number}`, name: 'By number' }],
    complete: (variable, prefix) =>
      variable === 'number' ? list.map(each => each.name).filter(n => n.startsWith(prefix)) : [],
  }
}

const builtIn = ['scene://current', 'scene://delta', 'audit://recent']

facts('decision: pagination', [
  [
    '1,200 entries come on three pages of 500 by opaque cursor, each exactly once',
    () =>
      serving(
        async ({ session }) => {
          const sizes: number[] = []
          const seen: string[] = []
          let cursor: string | undefined
          do {
            const { result } = await session.call('resources/list', { cursor })
            sizes.push(result.resources.length)
            seen.push(...result.resources.map((each: any) => each.uri))
            cursor = result.nextCursor
          } while (cursor !== undefined && sizes.length < 10)
          expect(sizes).to.deep.equal([500, 500, 200])
          expect(new Set(seen).size).to.equal(1200)
        },
        {},
        server => server.resources().addProducer(many('item', 1200 - builtIn.length)),
      ),
  ],
  [
    'a bad cursor is −32602',
    () =>
      serving(async ({ session }) => {
        for (const cursor of ['1', 'nonsense', '', 5, null, {}, 'x'.repeat(5000)]) {
          const error = await failure(session, 'resources/list', { cursor })
          expect(error.code, JSON.stringify(cursor)).to.equal(-32602)
        }
      }),
  ],
  [
    'artefacts are paged, too, behind the rest',
    () =>
      inFolder(folder =>
        serving(
          async ({ session }) => {
            const root = `${folder}/dcc-mcp-artefacts`
            for (let n = 0; n < 4; n++) await artefactPutBytes(Buffer.from(`${n}`), { root })
            const uris = await listedUris(session)
            expect(uris.slice(0, 3)).to.deep.equal(builtIn)
            expect(new Set(uris).size).to.equal(7)
          },
          { registryDir: folder, enableArtefactResources: true, limits: { pageSize: 2 } },
        ),
      ),
  ],
])

facts('decision: order of the listing', [
  [
    'built-in resources, custom producers as they were added, artefacts newest first',
    () =>
      inFolder(folder =>
        serving(
          async ({ session, server }) => {
            const root = `${folder}/dcc-mcp-artefacts`
            const stored: string[] = []
            for (const text of ['first', 'second', 'third']) {
              const { uri, created_at } = await artefactPutBytes(Buffer.from(text), { root })
              stored.unshift(uri)
              // Times are kept in milliseconds: the next one must be newer.
              while (Date.now() <= Date.parse(created_at)) await new Promise(setImmediate)
            }
            const buffer = new SessionEventBuffer({ sessionId: 's' })
            server.resources().registerSessionEventBuffer(buffer)
            expect(await listedUris(session)).to.deep.equal([
              ...builtIn,
              'events://session/s',
              'zeta://0',
              'alpha://0',
              ...stored,
            ])
          },
          { registryDir: folder, enableArtefactResources: true },
          server => {
            server.resources().addProducer(many('zeta', 1))
            server.resources().addProducer(many('alpha', 1))
          },
        ),
      ),
  ],
])

facts('decision: templates and completion', [
  [
    'templates of the built-in resources, of artefacts when they are on, and of custom producers',
    () =>
      inFolder(folder =>
        serving(
          async ({ session }) => {
            const { result } = await session.call('resources/templates/list')
            const templates = result.resourceTemplates.map((each: any) => each.uriTemplate)
            expect(templates).to.have.members([
              'scene://current{?view,pointer,depth,type,name,ids,where,fields,offset,limit}',
              'scene://delta{?since}',
              'audit://recent{?limit}',
              'events://session/{session_id}{?cursor,limit,drain}',
              'item://{number}',
              'artefact://sha256/{hex}',
            ])
          },
          { registryDir: folder, enableArtefactResources: true },
          server => server.resources().addProducer(many('item', 3)),
        ),
      ),
  ],
  [
    'completion for their variables',
    () =>
      inFolder(folder =>
        serving(
          async ({ session, server }) => {
            const root = `${folder}/dcc-mcp-artefacts`
            const { digest } = await artefactPutBytes(Buffer.from('c'), { root })
            const hex = digest.slice('sha256:'.length)
            const revision = server.resources().setScene({})
            const revisions = [revision, revision - 1].map(String)
            server
              .resources()
              .registerSessionEventBuffer(new SessionEventBuffer({ sessionId: 'render-12' }))
            const table: [string, string, string, string[]][] = [
              ['scene://delta{?since}', 'since', '', revisions],
              ['audit://recent{?limit}', 'limit', '5', ['50', '500']],
              [
                'events://session/{session_id}{?cursor,limit,drain}',
                'session_id',
                'ren',
                ['render-12'],
              ],
              ['events://session/{session_id}{?cursor,limit,drain}', 'drain', 't', ['true']],
              ['artefact://sha256/{hex}', 'hex', hex.slice(0, 6), [hex]],
              ['item://{number}', 'number', '1', ['1', '10', '11']],
            ]
            for (const [uri, name, value, values] of table) {
              const params = { ref: { type: 'ref/resource', uri }, argument: { name, value } }
              const { result } = await session.call('completion/complete', params)
              expect(result.completion.values, `${uri} ${name}`).to.deep.equal(values)
              expect(result.completion).to.include({ total: values.length, hasMore: false })
            }
          },
          { registryDir: folder, enableArtefactResources: true },
          server => server.resources().addProducer(many('item', 12)),
        ),
      ),
  ],
  [
    'an unknown template, an unknown variable, a prompt and a malformed context are −32602',
    () =>
      serving(async ({ session }) => {
        const uri = 'events://session/{session_id}{?cursor,limit,drain}'
        const right = {
          ref: { type: 'ref/resource', uri },
          argument: { name: 'session_id', value: '' },
        }
        const table: [string, object, RegExp][] = [
          ['template', { ref: { type: 'ref/resource', uri: 'none://{a}' } }, /templates\/list/],
          [
            'resource',
            { ref: { type: 'ref/resource', uri: 'scene://current' } },
            /templates\/list/,
          ],
          ['prompt', { ref: { type: 'ref/prompt', name: 'a' } }, /ref\/resource/],
          ['variable', { argument: { name: 'id', value: '' } }, /session_id, cursor, limit, drain/],
          ['value', { argument: { name: 'limit', value: 5 } }, /both strings/],
          ['context', { context: 5 }, /"context" must be/],
          ['arguments', { context: { arguments: [] } }, /"context" must be/],
          ['an argument', { context: { arguments: { cursor: 5 } } }, /"context" must be/],
        ]
        for (const [what, wrong, message] of table) {
          const error = await failure(session, 'completion/complete', { ...right, ...wrong })
          expect(error, what).to.include({ code: -32602 })
          expect(error.message, what).to.match(message)
        }
        for (const context of [{}, null, { arguments: {} }, { arguments: { x: 'y' }, z: 1 }]) {
          const { result } = await session.call('completion/complete', { ...right, context })
          expect(result.completion, JSON.stringify(context)).to.deep.equal({
            values: [],
            total: 0,
            hasMore: false,
          })
        }
      }),
  ],
  [
    'what is resolved of a template narrows the values of its other variables',
    () =>
      serving(
        async ({ session, server }) => {
          const buffer = new SessionEventBuffer({ sessionId: 'a b' })
          server.resources().registerSessionEventBuffer(buffer)
          for (let n = 0; n < 7; n++) buffer.append({ source: 's', stream: 't', message: 'm' })
          const values = async (uri: string, name: string, resolved: object) => {
            const ref = { type: 'ref/resource', uri }
            const context = { arguments: resolved }
            const asked = { ref, argument: { name, value: '' }, context }
            return (await session.call('completion/complete', asked)).result.completion.values
          }
          const events = 'events://session/{session_id}{?cursor,limit,drain}'
          expect(await values(events, 'cursor', { session_id: 'a b' })).to.deep.equal(['0', '7'])
          expect(await values(events, 'cursor', { session_id: 'c' })).to.deep.equal(['0'])
          const shots = 'shot://{sequence}/{shot}'
          expect(await values(shots, 'shot', {})).to.deep.equal(['10', '20', '30'])
          expect(await values(shots, 'shot', { sequence: 'b' })).to.deep.equal(['30'])
        },
        {},
        server =>
          server.resources().addProducer({
            scheme: 'shot',
            list: () => ['a/10', 'a/20', 'b/30'].map(name => ({ uri: `shot://${name}`, name })),
            read: () => [],
            templates: () => [{ uriTemplate: 'shot://{sequence}/{shot}', name: 'Shot' }],
          }),
      ),
  ],
  [
    'of more than 100 artefacts the newest, and that there are more',
    () =>
      inFolder(folder =>
        serving(
          async ({ session }) => {
            const root = `${folder}/dcc-mcp-artefacts`
            const put = (n: number) => artefactPutBytes(Buffer.from(`${n}`), { root })
            await Promise.all(Array.from({ length: 101 }, (_, n) => put(n)))
            const ref = { type: 'ref/resource', uri: 'artefact://sha256/{hex}' }
            const argument = { name: 'hex', value: '' }
            const { result } = await session.call('completion/complete', { ref, argument })
            expect(result.completion.values).to.have.length(100)
            expect(result.completion).to.include({ hasMore: true }).and.not.have.property('total')
          },
          { registryDir: folder, enableArtefactResources: true },
        ),
      ),
  ],
  [
    'at most 100 values at once, with the total',
    () =>
      serving(
        async ({ session }) => {
          const ref = { type: 'ref/resource', uri: 'item://{number}' }
          const argument = { name: 'number', value: '' }
          const { result } = await session.call('completion/complete', { ref, argument })
          expect(result.completion.values).to.have.length(100)
          expect(result.completion).to.include({ total: 150, hasMore: true })
        },
        {},
        server => server.resources().addProducer(many('item', 150)),
      ),
  ],
])

const listChanged = (messages: any[]) =>
  messages.filter(each => each.method === 'notifications/resources/list_changed').length

facts('decision: list_changed', [
  [
    'a burst of new buffers is announced once at once and once at its end, never lost',
    () =>
      serving(
        ({ session, server }) =>
          listening(session, [], async events => {
            for (let n = 0; n < 10; n++) {
              const buffer = new SessionEventBuffer({ sessionId: `s${n}` })
              server.resources().registerSessionEventBuffer(buffer)
            }
            await events.until(() => listChanged(events.messages) === 2)
            expect((await listAll(session)).length).to.equal(builtIn.length + 10)
            expect(listChanged(events.messages)).to.equal(2)
          }),
        { limits: { listChangedIntervalMs: 300 } },
      ),
  ],
  [
    'artefacts of another writer are announced',
    () =>
      inFolder(folder =>
        serving(
          ({ session }) =>
            listening(session, [], async events => {
              const root = `${folder}/dcc-mcp-artefacts`
              await artefactPutBytes(Buffer.from('n'), { root })
              await events.until(() => listChanged(events.messages) > 0)
            }),
          {
            registryDir: folder,
            enableArtefactResources: true,
            limits: { artefactPollMs: 20, listChangedIntervalMs: 20 },
          },
        ),
      ),
  ],
  [
    'a scene, an audit record or an event changes no list',
    () =>
      serving(({ session, server }) =>
        listening(session, ['scene://current'], async events => {
          server.resources().setScene({})
          await events.until(() => events.updates.length > 0)
          await session.call('ping')
          expect(listChanged(events.messages)).to.equal(0)
        }),
      ),
  ],
])
