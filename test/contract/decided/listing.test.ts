import { expect } from 'chai'
import { artefactPutBytes, SessionEventBuffer } from '../../../src/index.ts'
import {
  builtIn,
  many,
  facts,
  failure,
  inFolder,
  listAll,
  listedUris,
  listening,
  serving,
} from '../facts.ts'

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
