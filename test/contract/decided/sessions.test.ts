import { expect } from 'chai'
import type { AuthPolicy } from '../../../src/index.ts'
import {
  ask,
  initializeBody,
  postHeaders,
  RawSession,
  rpc,
  startServer,
  type TestServer,
} from '../../helpers/mcp.ts'
import { facts, listening, serving } from '../facts.ts'

const hourMs = 60 * 60 * 1000

/** Whoever names itself in the header is that principal. */
const byName: AuthPolicy = {
  authenticate: ({ headers: { authorization = 'nobody' } }) => ({
    ok: true,
    principal: authorization,
  }),
}

async function withClock(
  check: (running: TestServer, clock: { timeMs: number }) => Promise<void>,
  maxSessions = 10_000,
): Promise<void> {
  const clock = { timeMs: 1_000_000, now: () => clock.timeMs }
  const running = await startServer({ limits: { maxSessions } }, { clock })
  try {
    await check(running, clock)
  } finally {
    await running.stop()
  }
}

const ping = async (session: RawSession) => (await session.post(rpc('ping'))).status

facts('decision: sessions', [
  [
    'the id has at least 128 bits of visible ASCII and is never the same',
    () =>
      serving(async ({ url }) => {
        const ids = new Set<string>()
        for (let n = 0; n < 20; n++) ids.add((await RawSession.open(url)).id)
        expect(ids.size).to.equal(20)
        for (const id of ids) expect(id).to.match(/^[\x21-\x7e]{22,}$/)
      }),
  ],
  [
    'it is bound to its principal: for another one it does not exist',
    () =>
      serving(
        async ({ url }) => {
          const mine = await RawSession.open(url, '2025-11-25', { Authorization: 'me' })
          expect(await ping(mine)).to.equal(200)
          const theirs = await mine.post(rpc('ping'), { Authorization: 'you' })
          expect(theirs.status).to.equal(404)
          expect(theirs.json.error.code).to.equal(-32001)
        },
        {},
        () => {},
        { auth: byName },
      ),
  ],
  [
    'it ends after an hour without request',
    () =>
      withClock(async ({ url }, clock) => {
        const session = await RawSession.open(url)
        clock.timeMs += hourMs - 1
        expect(await ping(session)).to.equal(200)
        clock.timeMs += hourMs
        expect(await ping(session)).to.equal(404)
      }),
  ],
  [
    'an open stream is activity',
    () =>
      withClock(async ({ url }, clock) => {
        const session = await RawSession.open(url)
        await listening(session, [], async () => {
          clock.timeMs += 3 * hourMs
          expect(await ping(session)).to.equal(200)
        })
      }),
  ],
  [
    'at max_sessions the longest idle one without a stream goes',
    () =>
      withClock(async ({ url }, clock) => {
        const streaming = await RawSession.open(url)
        await listening(streaming, [], async () => {
          clock.timeMs += 1
          const idle = await RawSession.open(url)
          clock.timeMs += 1
          const newer = await RawSession.open(url)
          expect(await ping(idle)).to.equal(404)
          expect(await ping(newer)).to.equal(200)
          expect(await ping(streaming)).to.equal(200)
        })
      }, 2),
  ],
  [
    '503 only when all have a stream',
    () =>
      withClock(async ({ url }) => {
        await listening(await RawSession.open(url), [], async () => {
          const body = initializeBody()
          const answer = await ask(url, { method: 'POST', headers: postHeaders, body })
          expect(answer.status).to.equal(503)
        })
      }, 1),
  ],
  [
    'a second GET stream becomes the receiver, the older one is ended',
    () =>
      serving(({ session, server }) =>
        listening(session, ['scene://current'], older =>
          listening(session, [], async newer => {
            await older.untilEnded()
            server.resources().setScene({})
            await newer.until(() => newer.updates.length === 1)
            expect(older.updates).to.deep.equal([])
          }),
        ),
      ),
  ],
  [
    'POST answers application/json; Accept */* satisfies both types, one type alone does not',
    () =>
      serving(async ({ session }) => {
        for (const [accept, status] of [
          ['*/*', 200],
          ['application/json, text/event-stream', 200],
          ['application/json', 406],
          ['text/event-stream', 406],
        ] as const) {
          const answer = await session.post(rpc('ping'), { Accept: accept })
          expect(answer.status, accept).to.equal(status)
          expect(answer.headers['content-type'], accept).to.equal('application/json')
        }
      }),
  ],
])
