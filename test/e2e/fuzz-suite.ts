import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { Agent, type IncomingMessage, request as httpRequest } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect } from 'chai'
import { silentLogger } from '../../src/lib/logger.ts'
import type { ServeHandle } from '../../src/server/serve-options.ts'
import { startServe } from '../../src/server/serve.ts'
import { ask, RawSession } from '../helpers/mcp.ts'
import {
  Dice,
  type FuzzCase,
  type FuzzTarget,
  messageCase,
  otherCase,
  rawCase,
} from './fuzz-cases.ts'
import { parseAnswers, RawSocket } from './raw-socket.ts'

const MiB = 1024 * 1024
/** Cases under way at the same time. */
const lanes = 16
const statuses = [
  200, 201, 202, 204, 206, 304, 400, 401, 403, 404, 405, 406, 408, 413, 415, 416, 417, 426, 429,
  431,
]

/** Random and damaged requests to a whole server in this process: every answer is well-formed. */
export function describeFuzz(cases: number, seed: number): void {
  describe(`${cases} random requests (FUZZ_SEED=${seed})`, function () {
    this.timeout(20_000 + cases * 5)
    let folder: string
    let handle: ServeHandle
    let target: FuzzTarget
    const errors: object[] = []
    const agent = new Agent({ keepAlive: true, maxSockets: lanes })

    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'fuzz-'))
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
          headersTimeoutMs: 300,
          bodyTimeoutMs: 300,
          refusedBodyDrainMs: 100,
          maxArtefacts: 100,
        },
      })
      const token = await readFile(handle.hostTokenFile ?? '', 'utf8')
      const stored = await ask(`${handle.hostUrl}/v1/artefacts`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${token}` },
        body: 'an artefact',
      })
      target = { sessions: await openSessions(), token, hex: stored.json.sha256 }
    })

    after(async () => {
      agent.destroy()
      await handle.stop()
      await rm(folder, { recursive: true, force: true })
    })

    const outcomes = new Map<string, number>()
    const note = (outcome: string) => outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)

    async function openSessions(): Promise<string[]> {
      const revisions = ['2025-03-26', '2025-11-25']
      const opened = revisions.map(revision => RawSession.open(handle.url, revision))
      return (await Promise.all(opened)).map(({ id }) => id)
    }

    async function run(first: number, count: number): Promise<void> {
      let next = first
      const lane = async () => {
        for (let number = next++; number < first + count; number = next++) {
          // Sooner or later a case is a DELETE that hits: ended sessions would end the variety.
          if (number % 500 === 0) target = { ...target, sessions: await openSessions() }
          await oneCase(number).catch((error: Error) => {
            throw new Error(`case ${number} of FUZZ_SEED=${seed}: ${error.message}`, {
              cause: error,
            })
          })
        }
      }
      await Promise.all(Array.from({ length: lanes }, lane))
    }

    async function oneCase(number: number): Promise<void> {
      const dice = new Dice(seed * 1_000_003 + number)
      const kind = dice.below(10)
      if (kind < 6) note(check(await send(messageCase(dice, target))))
      else if (kind < 8) check(await send(otherCase(dice, target)))
      else for (const answer of await sendRaw(rawCase(dice, target))) check(answer)
    }

    it('get well-formed answers, in bounded memory', async () => {
      const warm = Math.ceil(cases / 5)
      await run(0, warm)
      const before = heapUsed()
      await run(warm, cases - warm)
      expect(heapUsed() - before).to.be.below(40 * MiB)
      // Not all of them died at the first check.
      for (const outcome of ['result', '-32601', '-32602', '-32002', '-32600', '-32700']) {
        expect(outcomes.get(outcome) ?? 0, outcome).to.be.above(cases / 500)
      }
    })

    it('cost no inner error, and the server its life', async () => {
      expect(errors.slice(0, 3)).to.deep.equal([])
      const answer = await RawSession.open(handle.url).then(fresh => fresh.call('ping'))
      expect(answer.result).to.deep.equal({})
      const { result } = await (await RawSession.open(handle.url)).call('resources/list')
      expect(result.resources.length).to.be.above(2)
    })

    async function send({ method, path, headers, body }: FuzzCase): Promise<Answer> {
      const { port } = new URL(handle.url)
      const options = { host: '127.0.0.1', port, method, path, headers, agent, setHost: false }
      const req = httpRequest({
        ...options,
        headers: [...headers, 'Content-Length', `${body.length}`],
      })
      req.end(body)
      const [res] = (await once(req, 'response')) as [IncomingMessage]
      const type = res.headers['content-type'] ?? ''
      const status = res.statusCode ?? 0
      if (type === 'text/event-stream') {
        res.destroy()
        return { path, method, status, type, text: '' }
      }
      // A case that ended a session must not leave the others without.
      if (method === 'DELETE' && status === 204) target.sessions = await openSessions()
      let text = ''
      for await (const chunk of res.setEncoding('utf8')) text += chunk
      return { path, method, status, type, text }
    }

    async function sendRaw(bytes: Buffer): Promise<Answer[]> {
      const raw = await RawSocket.open(Number(new URL(handle.url).port))
      raw.socket.end(bytes)
      // A stream that was opened never ends by itself.
      await raw.waitFor(() => raw.received.includes('text/event-stream'), 'an answer or the end')
      raw.close()
      return parseAnswers(raw.received).map(({ status, headers, body }) => ({
        path: '',
        method: '',
        status,
        type: headers['content-type'] ?? '',
        text: Buffer.from(body, 'latin1').toString(),
      }))
    }
  })
}

interface Answer {
  path: string
  method: string
  status: number
  type: string
  text: string
}

/** Returns what it was: a code, "result", or nothing of interest. */
function check({ path, method, status, type, text }: Answer): string {
  const shown = `${method} ${path} ${status} ${type} ${text.slice(0, 300)}`
  expect(statuses, shown).to.include(status)
  expect(text, shown).not.to.match(/node_modules|file:\/\/\/|\n\s+at |TypeError|RangeError/)
  if (text === '' || type === 'text/event-stream') return ''
  if (path.startsWith('/artefacts/') && status < 300) return ''
  expect(type, shown).to.match(/^application\/(problem\+)?json$/)
  const json = JSON.parse(text)
  if (type === 'application/problem+json') {
    expect(json.status, shown).to.equal(status)
    expect(json.code, shown).to.match(/^[a-z-]+$/)
  } else if (path === '/mcp') {
    for (const message of Array.isArray(json) ? json : [json]) checkMessage(message, status, shown)
    return 'result' in json ? 'result' : String(json.error?.code)
  }
  return ''
}

function checkMessage(message: any, status: number, shown: string): void {
  expect(message.jsonrpc, shown).to.equal('2.0')
  // Revision 2026-07-28 has no null: what it refuses without knowing the id has none.
  if (status !== 400) expect(message, shown).to.have.property('id')
  expect('result' in message, shown).to.equal(!('error' in message))
  if (!('error' in message)) return
  expect(Number.isInteger(message.error.code), shown).to.equal(true)
  expect(message.error.message, shown).to.be.a('string').and.not.equal('')
  if (message.error.code === -32603) expect(message.error.data.reason, shown).to.be.a('string')
}

/** After a collection: what is left is held by somebody. */
function heapUsed(): number {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  return process.memoryUsage().heapUsed
}
