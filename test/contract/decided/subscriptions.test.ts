import { expect } from 'chai'
import { AuditLog } from '../../../src/index.ts'
import { facts, many, failure, inFolder, listening, serving } from '../facts.ts'

facts('decision: result of subscribe and unsubscribe', [
  [
    'both answer {}',
    () =>
      serving(async ({ session }) => {
        for (const method of ['resources/subscribe', 'resources/unsubscribe']) {
          const { result } = await session.call(method, { uri: 'scene://current' })
          expect(result).to.deep.equal({})
        }
      }),
  ],
  [
    'a well-formed URI of a served scheme is accepted before it exists',
    () =>
      serving(
        async ({ session }) => {
          for (const uri of ['events://session/later', 'notes://later', 'scene://other']) {
            const { result } = await session.call('resources/subscribe', { uri })
            expect(result, uri).to.deep.equal({})
          }
        },
        {},
        server => server.resources().addProducer(many('notes', 0)),
      ),
  ],
  [
    'an unknown scheme is the not-found error',
    () =>
      serving(async ({ session }) => {
        const error = await failure(session, 'resources/subscribe', { uri: 'nowhere://x' })
        expect(error).to.deep.include({ code: -32002, data: { uri: 'nowhere://x' } })
        expect(error.message).to.contain('list the resources and the URI templates')
      }),
  ],
  [
    '1000 subscriptions a session, the next one is refused and the others stay',
    () =>
      serving(
        ({ session, server }) =>
          listening(session, [], async events => {
            for (let from = 0; from < 1000; from += 50) {
              const uris = Array.from({ length: 50 }, (_, n) => `notes://${from + n}`)
              await Promise.all(uris.map(uri => session.call('resources/subscribe', { uri })))
            }
            const error = await failure(session, 'resources/subscribe', { uri: 'notes://1000' })
            expect(error.data).to.include({ reason: 'subscription_limit' })
            server.resources().notifyUpdated('notes://1000')
            server.resources().notifyUpdated('notes://999')
            await events.until(() => events.updates.length > 0)
            expect(events.updates).to.deep.equal(['notes://999'])
          }),
        {},
        server => server.resources().addProducer(many('notes', 0)),
      ),
  ],
])

facts('decision: subscription to a URI with a query', [
  [
    'it matches without the query; the update carries the URI as it was subscribed',
    () =>
      serving(({ session, server }) => {
        const uris = ['scene://delta?since=0', 'SCENE://%63urrent']
        return listening(session, uris, async events => {
          server.resources().setScene({})
          await events.until(() => events.updates.length === 2)
          expect(events.updates).to.have.members(uris)
        })
      }),
  ],
])

const malformedSubscriptions = [
  'scene://current with spaces',
  'scene://delta?since=x',
  'audit://recent?limit=x',
  'audit://recent?limit=1&limit=2',
  'events://session/s?cursor=-1',
  'artefact://sha256/xyz',
  'no uri',
]

facts('decision: subscriptions by URI', [
  [
    'malformed URIs are −32602; what does not exist yet can be subscribed to',
    () =>
      inFolder(registryDir =>
        serving(
          async ({ session }) => {
            for (const uri of malformedSubscriptions) {
              const { code } = await failure(session, 'resources/subscribe', { uri })
              expect(code, uri).to.equal(-32602)
            }
            for (const uri of ['events://session/later', `artefact://sha256/${'0'.repeat(64)}`]) {
              const { result } = await session.call('resources/subscribe', { uri })
              expect(result, uri).to.deep.equal({})
            }
          },
          { registryDir, enableArtefactResources: true },
        ),
      ),
  ],
  [
    'several spellings are one subscription, in the last one; unsubscribing any of them ends it',
    () =>
      serving(
        ({ session, server }) =>
          listening(
            session,
            ['scene://current', 'SCENE://%63urrent', 'audit://recent'],
            async events => {
              server.resources().setScene({})
              await events.until(() => events.updates.length === 1)
              expect(events.updates).to.deep.equal(['SCENE://%63urrent'])
              await session.call('resources/unsubscribe', { uri: 'Scene://current' })
              server.resources().setScene({})
              server.resources().auditLog?.record({ action: 'after' })
              await events.until(() => events.updates.length === 2)
              expect(events.updates[1]).to.equal('audit://recent')
            },
          ),
        {},
        server => server.resources().wireAuditLog(new AuditLog()),
      ),
  ],
])
