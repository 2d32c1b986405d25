import { expect } from 'chai'
import { artefactPutBytes, SessionEventBuffer } from '../../../src/index.ts'
import { many, facts, failure, inFolder, serving } from '../facts.ts'

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
              'scene://current{?view,pointer,type,name,ids,where,fields,offset,limit}',
              'scene://delta{?since,until}',
              'audit://recent{?limit}',
              'events://session/{session_id}{?cursor,limit,drain}',
              'item://{number}',
              'artefact://sha256/{hex}',
              'artefact://sha256/{hex}{?as,offset,limit,max_width}',
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
              ['scene://delta{?since,until}', 'since', '', revisions],
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
          server
            .resources()
            .addProducer({
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
