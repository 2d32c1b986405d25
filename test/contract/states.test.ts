import { expect } from 'chai'
import { ask, postHeaders, RawSession, rpc } from '../helpers/mcp.ts'
import { facts, listening, serving } from './facts.ts'

const scene = 'scene://current'

facts('specification: States, scene snapshot', [
  [
    'no snapshot → set → held: read back, one update to every subscribed session',
    () =>
      serving(async one => {
        const other = await RawSession.open(one.url)
        await listening(one.session, [scene], first =>
          listening(other, [scene], async second => {
            one.server.resources().setScene({ n: 1 })
            for (const events of [first, second]) {
              await events.until(() => events.updates.length === 1)
              expect(events.updates).to.deep.equal([scene])
            }
            expect(await other.readJson(scene)).to.deep.equal({ n: 1 })
          }),
        )
      }),
  ],
  [
    'held → set → held: replaced as a whole, with the same update',
    () =>
      serving(async ({ session, server }) => {
        server.resources().setScene({ old: true, shared: { a: 1 } })
        await listening(session, [scene], async events => {
          server.resources().setScene({ shared: { b: 2 } })
          await events.until(() => events.updates.length === 1)
          expect(await session.readJson(scene)).to.deep.equal({ shared: { b: 2 } })
        })
      }),
  ],
  [
    'the snapshot is what was given at the call, not what became of the object',
    () =>
      serving(async ({ session, server }) => {
        const live = { objects: ['Cube'] }
        server.resources().setScene(live)
        live.objects.push('Lamp')
        expect(await session.readJson(scene)).to.deep.equal({ objects: ['Cube'] })
      }),
  ],
  [
    'held → null → no snapshot: readers get the placeholder',
    () =>
      serving(async ({ session, server }) => {
        server.resources().setScene({ n: 1 })
        server.resources().setScene(null)
        expect(await session.readJson(scene)).to.include({ status: 'no_snapshot' })
      }),
  ],
])

facts('specification: States, subscription of a session', [
  [
    'a session that did not subscribe hears nothing; after subscribing it does',
    () =>
      serving(({ session, server }) =>
        listening(session, [], async events => {
          server.resources().setScene({ n: 1 })
          await session.call('resources/subscribe', { uri: scene })
          server.resources().setScene({ n: 2 })
          await events.until(() => events.updates.length > 0)
          expect(events.updates).to.deep.equal([scene])
        }),
      ),
  ],
  [
    'subscribing needs a session: without one the request is refused, unknown ones are not found',
    () =>
      serving(async ({ url }) => {
        const body = rpc('resources/subscribe', { uri: scene })
        const without = await ask(url, { method: 'POST', headers: postHeaders, body })
        expect(without.status).to.equal(400)
        const headers = { ...postHeaders, 'Mcp-Session-Id': 'unknown' }
        expect((await ask(url, { method: 'POST', headers, body })).status).to.equal(404)
      }),
  ],
  [
    'unsubscribe ends it',
    () =>
      serving(({ session, server }) =>
        listening(session, [scene, 'scene://delta'], async events => {
          await session.call('resources/unsubscribe', { uri: scene })
          server.resources().setScene({})
          await events.until(() => events.updates.length > 0)
          expect(events.updates).to.deep.equal(['scene://delta'])
        }),
      ),
  ],
  [
    'DELETE ends the session with all its subscriptions: its stream ends, its id is gone',
    () =>
      serving(({ session, server }) =>
        listening(session, [scene], async events => {
          expect((await session.delete()).status).to.equal(204)
          await events.untilEnded()
          server.resources().setScene({})
          expect(events.updates).to.deep.equal([])
          expect((await session.post(rpc('ping'))).status).to.equal(404)
        }),
      ),
  ],
])
