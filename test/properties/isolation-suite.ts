import { expect } from 'chai'
import fc from 'fast-check'
import { AuditLog, type AuthPolicy, SessionEventBuffer } from '../../src/index.ts'
import { ask, rpc, startServer, type TestServer } from '../helpers/mcp.ts'
import { IsolatedListener } from './isolated-listener.ts'
import { IsolatedSession } from './isolated-session.ts'
import { type Changing, type Op, owners, someOps } from './isolation-ops.ts'
import { replay } from './replay.ts'

/** Everyone is who the key says. */
const auth: AuthPolicy = {
  authenticate({ headers: { authorization = '' } }) {
    const principal = authorization.slice('Bearer '.length)
    if (principal === 'alice' || principal === 'bob') return { ok: true, principal }
    return { ok: false, status: 401, description: 'nobody' }
  },
}

/** Who is there in one run. */
interface Cast {
  readonly sessions: readonly IsolatedSession[]
  readonly listeners: IsolatedListener[]
}

/**
 * Whatever several people's sessions do at the same time: each is told of exactly what it subscribed
 * to, in its own words, and nobody reaches into the session of another.
 */
export function describeIsolation(cases: number): void {
  describe(`sessions side by side, ${cases} random steps`, function () {
    const budgetMs = 20_000 + cases * 15
    this.timeout(budgetMs + 10_000)
    let running: TestServer
    const log = new AuditLog()
    let lastId = 0

    before(async () => {
      running = await startServer(
        { limits: { maxSessions: 200, listChangedIntervalMs: 0 } },
        { auth },
        server => {
          server.resources().wireAuditLog(log)
          server
            .resources()
            .addProducer({ scheme: 'thing', list: () => [], read: uri => [{ uri, text: uri }] })
        },
      )
    })
    after(() => running.stop())

    function change(what: Changing): void {
      const resources = running.server.resources()
      if (what === 'scene://current') resources.setScene({ at: ++lastId })
      else if (what === 'audit://recent') log.record({ action: 'a' })
      else resources.notifyUpdated(what)
    }

    async function read(session: IsolatedSession, uri: string): Promise<void> {
      const own = session.own(uri)
      const id = `read ${++lastId} of ${own}`
      const answer = await session.raw.post(rpc('resources/read', { uri: own }, id))
      expect(answer.status).to.equal(200)
      expect(answer.json.id).to.equal(id)
      expect(answer.json.result.contents[0].uri).to.equal(own)
    }

    async function steal(of: number, sessions: readonly IsolatedSession[], op: Op): Promise<void> {
      const session = sessions[of]
      if (session === undefined || op.op !== 'steal') return
      const thief = owners.find(owner => owner !== owners[of])
      const isPost = op.method !== 'GET' && op.method !== 'DELETE'
      const answer = await ask(running.url, {
        method: isPost ? 'POST' : op.method,
        headers: {
          ...session.raw.headers,
          ...(op.method === 'GET' && { Accept: 'text/event-stream' }),
          Authorization: `Bearer ${thief}`,
        },
        ...(isPost && { body: rpc(op.method, { uri: session.own(op.uri) }, ++lastId) }),
      })
      // As if there were no such session: not even that there is one can be found out.
      expect(answer.status).to.equal(404)
      expect(answer.json.error.code).to.equal(-32001)
    }

    async function step(op: Op, { sessions, listeners }: Cast): Promise<void> {
      switch (op.op) {
        case 'steal':
          return steal(op.of, sessions, op)
        case 'listen':
          listeners.push(await IsolatedListener.open(running.url, op, ++lastId))
          return
        case 'list': {
          const buffer = new SessionEventBuffer({ sessionId: `s${++lastId}` })
          running.server.resources().registerSessionEventBuffer(buffer)
          return running.server.resources().removeSessionEventBuffer(buffer)
        }
        case 'hang up':
          for (const listener of listeners.splice(op.at, 1)) listener.close()
          return
        case 'change':
          change(op.what)
          for (const each of [...sessions, ...listeners]) each.changed(op.what)
          return
      }
      const session = sessions[op.by]
      if (session === undefined || session.ended) return
      if (op.op === 'subscribe') return session.subscribe(op.uri)
      if (op.op === 'unsubscribe') return session.unsubscribe(op.uri)
      if (op.op === 'read') return read(session, op.uri)
      return op.op === 'end' ? session.end() : session.listen()
    }

    it('are told of what they subscribed to, once each, and of nothing else', () =>
      fc.assert(
        fc.asyncProperty(someOps, async ops => {
          const sessions = await Promise.all(
            owners.map((owner, number) => IsolatedSession.open(running.url, owner, number)),
          )
          const listeners: IsolatedListener[] = []
          try {
            for (const op of ops) await step(op, { sessions, listeners })
            const flush = (uri: string) => running.server.resources().notifyUpdated(uri)
            await Promise.all([...sessions, ...listeners].map(each => each.settle(flush)))
          } finally {
            for (const each of [...sessions, ...listeners]) each.close()
          }
        }),
        replay(Math.ceil(cases / 20), budgetMs),
      ))
  })
}
