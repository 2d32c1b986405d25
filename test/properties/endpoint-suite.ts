import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { Agent } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect } from 'chai'
import fc from 'fast-check'
import { silentLogger } from '../../src/lib/util/logger.ts'
import type { ServeHandle } from '../../src/server/host/serve-options.ts'
import { startServe } from '../../src/server/serve.ts'
import { ask, initializeBody, postHeaders, RawSession } from '../helpers/mcp.ts'
import { callStateless } from '../helpers/stateless.ts'
import { checkForm, checkRpc } from './answers.ts'
import { damaged, muchDamage } from './arbitraries.ts'
import {
  type Answer,
  fillIn,
  type Places,
  type Sent,
  send,
  sendBytes,
  writeOut,
} from './exchange.ts'
import { otherRequest, writtenRequest } from './host-requests.ts'
import { mcpRequest } from './requests.ts'
import { replay } from './replay.ts'

const MiB = 1024 * 1024
/** Requests of one run, under way at the same time: on average half of them. */
const atOnce = 16

/** Random and damaged requests to a whole server in this process: every answer is well-formed. */
export function describeEndpoint(cases: number): void {
  describe(`the endpoint, ${cases} random requests`, function () {
    const budgetMs = 20_000 + cases * 15
    this.timeout(budgetMs + 10_000)
    let folder: string
    let handle: ServeHandle
    let shared: Omit<Places, 'sessions'>
    const errors: object[] = []
    const agent = new Agent({ keepAlive: true, maxSockets: atOnce })
    const outcomes = new Map<string, number>()

    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'properties-'))
      handle = await startServe({
        port: 0,
        host: '127.0.0.1',
        allowedHosts: [],
        allowedOrigins: [],
        dccType: 'unknown',
        registryDir: folder,
        artefacts: true,
        resources: true,
        accessLog: () => {},
        log: { ...silentLogger, error: (fields: object) => void errors.push(fields) },
        limits: {
          headersTimeoutMs: 5000,
          bodyTimeoutMs: 300,
          refusedBodyDrainMs: 100,
          maxArtefacts: 100,
          maxSessions: 500,
        },
      })
      const token = await readFile(handle.hostTokenFile ?? '', 'utf8')
      const stored = await ask(`${handle.hostUrl}/v1/artefacts`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${token}` },
        body: 'an artefact',
      })
      shared = { token, hex: stored.json.sha256 }
    })

    after(async () => {
      agent.destroy()
      await handle.stop()
      await rm(folder, { recursive: true, force: true })
    })

    /** Two sessions for one run: what it ends or subscribes to is gone with it. */
    async function places(): Promise<Places> {
      const opened = ['2025-03-26', '2025-11-25'].map(async revision => {
        const body = initializeBody(revision)
        const { headers } = await ask(handle.url, { method: 'POST', headers: postHeaders, body })
        return String(headers['mcp-session-id'])
      })
      return { ...shared, sessions: await Promise.all(opened) }
    }

    function check(sent: Sent, answer: Answer, { sessions }: Places): void {
      const shown = `${sent.method} ${sent.path} ${sent.body.toString('latin1').slice(0, 300)}`
      try {
        checkForm(answer, sent.path)
        for (const id of sessions)
          expect(answer.text.includes(id), 'names a session').to.equal(false)
        if (answer.sessionId !== undefined) {
          expect(answer.status).to.equal(200)
          expect(sessions).not.to.include(answer.sessionId)
        }
        if (sent.path !== '/mcp') return
        const outcome = checkRpc(sent, answer)
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
      } catch (error) {
        const { status, type, text } = answer
        const got = `${status} ${type} ${text.slice(0, 300)}`
        throw new Error(`${(error as Error).message}\n${shown}\n→ ${got}`, { cause: error })
      }
    }

    const assert = <Case>(
      share: number,
      one: fc.Arbitrary<Case>,
      run: (items: Case[], places: Places) => Promise<unknown>,
    ) =>
      fc.assert(
        fc.asyncProperty(
          fc.array(one, { minLength: 1, maxLength: atOnce, size: 'max' }),
          async items => void (await run(items, await places())),
        ),
        replay(Math.ceil((cases * share * 2) / atOnce), budgetMs),
      )

    const sendAll = (made: readonly Parameters<typeof fillIn>[0][], places: Places) =>
      Promise.all(
        made.map(async each => {
          const sent = fillIn(each, places)
          check(sent, await send(handle.url, agent, sent), places)
        }),
      )

    it('answers every message with its own id and nothing of another session, in bounded memory', async () => {
      await assert(0.15, mcpRequest, sendAll)
      const before = heapUsed()
      await assert(0.5, mcpRequest, sendAll)
      expect(heapUsed() - before).to.be.below(40 * MiB)
    })

    it('met everything that can become of a message', () => {
      // Not all of them died at the first check.
      const expected = [
        'result',
        '202',
        'batch',
        'stream',
        '-32601',
        '-32602',
        '-32002',
        '-32600',
        '-32700',
      ]
      for (const outcome of [...expected, '-32020', '-32022']) {
        expect(outcomes.get(outcome) ?? 0, outcome).to.be.above(cases / 1000)
      }
    })

    it('answers posts of an application, and downloads', () => assert(0.15, otherRequest, sendAll))

    it('survives any bytes', () =>
      assert(0.2, fc.tuple(writtenRequest, muchDamage), async (items, places) => {
        const all = items.map(async ([{ made, length }, damage]) => {
          const sent = fillIn(made, places)
          const bytes = damaged(writeOut(sent, length), damage)
          // Which of the answers is to what cannot be known.
          const unknown = { ...sent, path: 'any bytes' }
          // Damage can make an Origin of a session's id, and a refused Origin is repeated to its sender.
          const unsaid = places.sessions.filter(id => !bytes.includes(id))
          for (const answer of await sendBytes(handle.url, bytes)) {
            check(unknown, answer, { ...places, sessions: unsaid })
          }
        })
        await Promise.all(all)
      }))

    it('had no inner error, and serves on', async () => {
      expect(errors.slice(0, 3)).to.deep.equal([])
      const session = await RawSession.open(handle.url)
      expect((await session.call('ping')).result).to.deep.equal({})
      const { json } = await callStateless(handle.url, 'resources/list')
      expect(json.result.resources.length).to.be.above(2)
    })
  })
}

/** After a collection: what is left is held by somebody. */
function heapUsed(): number {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  return process.memoryUsage().heapUsed
}
