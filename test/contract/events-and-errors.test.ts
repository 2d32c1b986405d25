import { expect } from 'chai'
import {
  artefactPutBytes,
  AuditLog,
  type ResourceProducer,
  SessionEventBuffer,
} from '../../src/index.ts'
import { RawSession, rpc } from '../helpers/mcp.ts'
import { facts, failure, inFolder, listening, serving } from './facts.ts'

const scene = 'scene://current'
const audit = 'audit://recent'

const broken: ResourceProducer = {
  scheme: 'broken',
  list: () => [],
  read() {
    throw new Error('cannot open /home/someone/secret.blend')
  },
}

facts('specification: Events', [
  [
    'scene updates are JSON-RPC notifications with uri, one for every call of setScene',
    () =>
      serving(({ session, server }) =>
        listening(session, [scene], async events => {
          for (const value of [{ n: 1 }, { n: 1 }, null]) server.resources().setScene(value)
          await events.until(() => events.updates.length === 3)
          for (const message of events.messages) {
            expect(message).to.deep.equal({
              jsonrpc: '2.0',
              method: 'notifications/resources/updated',
              params: { uri: scene },
            })
          }
        }),
      ),
  ],
  [
    'audit updates come with every record of a wired log',
    () => {
      const log = new AuditLog()
      return serving(
        ({ session }) =>
          listening(session, [audit], async events => {
            for (const action of ['a', 'b', 'c']) log.record({ action })
            await events.until(() => events.updates.length === 3)
            expect(events.updates).to.deep.equal([audit, audit, audit])
          }),
        {},
        server => server.resources().wireAuditLog(log),
      )
    },
  ],
  [
    'a log that is not wired tells nobody',
    () =>
      serving(({ session, server }) =>
        listening(session, [audit, scene], async events => {
          new AuditLog().record({ action: 'unheard' })
          server.resources().setScene({})
          await events.until(() => events.updates.length > 0)
          expect(events.updates).to.deep.equal([scene])
        }),
      ),
  ],
  [
    'rule 1: capture and artefacts never emit',
    () =>
      inFolder(folder =>
        serving(
          async ({ session, server }) => {
            const root = `${folder}/dcc-mcp-artefacts`
            const { uri } = await artefactPutBytes(Buffer.from('1'), { root })
            const uris = [uri, 'capture://current_window', scene]
            await listening(session, uris, async events => {
              await artefactPutBytes(Buffer.from('1'), { root, jobId: 'again' })
              await session.call('resources/read', { uri })
              server.resources().setScene({})
              await events.until(() => events.updates.length > 0)
              expect(events.updates).to.deep.equal([scene])
            })
          },
          { registryDir: folder, enableArtefactResources: true },
        ),
      ),
  ],
  [
    'rule 2: what happens while the client is away is not told later',
    () =>
      serving(async ({ session, server }) => {
        await listening(session, [scene], async events => {
          events.close()
          await events.untilEnded()
        })
        server.resources().setScene({ missed: true })
        await listening(session, [], async events => {
          server.resources().setScene({ heard: true })
          await events.until(() => events.updates.length > 0)
          await session.call('ping')
          expect(events.updates).to.deep.equal([scene])
        })
      }),
  ],
  [
    'rule 3: a subscription belongs to one session',
    () =>
      serving(async ({ url, session, server }) => {
        const other = await RawSession.open(url)
        await listening(session, [scene], mine =>
          listening(other, ['scene://delta'], async theirs => {
            server.resources().setScene({})
            for (const events of [mine, theirs]) {
              await events.until(() => events.updates.length > 0)
            }
            expect(mine.updates).to.deep.equal([scene])
            expect(theirs.updates).to.deep.equal(['scene://delta'])
          }),
        )
      }),
  ],
  [
    'rule 7: session events are read by cursor and not pushed',
    () =>
      serving(async ({ session, server }) => {
        const buffer = new SessionEventBuffer({ sessionId: 'j' })
        server.resources().registerSessionEventBuffer(buffer)
        await listening(session, ['events://session/j', scene], async events => {
          buffer.append({ source: 'a', stream: 'b', message: 'c' })
          server.resources().setScene({})
          await events.until(() => events.updates.length > 0)
          expect(events.updates).to.deep.equal([scene])
          const { events: read } = await session.readJson('events://session/j?cursor=0')
          expect(read).to.have.length(1)
        })
      }),
  ],
])

facts('specification: Errors', [
  [
    '−32602: uri missing or malformed',
    () =>
      serving(async ({ session }) => {
        for (const params of [undefined, {}, { uri: 'no scheme' }, { uri: '' }]) {
          for (const method of ['resources/read', 'resources/subscribe', 'resources/unsubscribe']) {
            expect((await failure(session, method, params)).code, method).to.equal(-32602)
          }
        }
      }),
  ],
  [
    '−32603: a producer failed, and the client learns nothing of its insides',
    () =>
      serving(
        async ({ session }) => {
          const answer = await session.post(rpc('resources/read', { uri: 'broken://x' }))
          expect(answer.json.error.code).to.equal(-32603)
          expect(answer.text).not.to.match(/someone|secret|stack|\.ts/)
        },
        {},
        server => server.resources().addProducer(broken),
      ),
  ],
])

facts('specification: Versioning', [
  [
    'the resources capability is that of protocol revision 2025-03-26, which is spoken',
    () =>
      serving(async ({ url, server }) => {
        const session = await RawSession.open(url, '2025-03-26')
        server.resources().setScene({ n: 1 })
        expect(await session.readJson(scene)).to.deep.equal({ n: 1 })
        await listening(session, [scene], async events => {
          server.resources().setScene({ n: 2 })
          await events.until(() => events.updates.length === 1)
        })
      }),
  ],
])
