import { argon2, randomBytes } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { performance } from 'node:perf_hooks'
import { promisify } from 'node:util'
import { recommendedCost } from '../../src/server/accounts/passwords.ts'
import type { Bench } from '../bench.ts'
import { compare, type Entry } from '../compare.ts'
import { loginText, meText, password, register, startAccountsServer } from '../registry.ts'
import type { Measured } from '../table.ts'
import { requestColumns, underLoad } from './requests.ts'

const connections = 16
const logins = 4

/** Whose token a request carries, with and without the look at the session in the database. */
export async function measureSessionLookUp(bench: Bench): Promise<Measured> {
  const load = bench.startLoad()
  const kinds = [
    ['without look-up', 'memory'],
    ['without again', 'memory'],
    ['with look-up', 'database'],
    ['registry', 'shipped'],
  ] as const
  const entries: Entry[] = []
  for (const [name, kind] of kinds) {
    const target = await startAccountsServer(bench, name, kind)
    const texts = [meText(target, await register(target, 'bench'))]
    const sessions = new Array<string>(connections).fill('')
    entries.push({
      name,
      prepare: async () => {
        await underLoad(load, target, texts, sessions, bench.pick(2000, 500))
      },
      measure: () => underLoad(load, target, texts, sessions, bench.pick(1000, 300)),
    })
  }
  const { rounds, notes } = await compare(entries, bench.pick(9, 3))
  return {
    name: 'session-lookup',
    title: `GET /api/v1/auth/me, ${connections} connections`,
    reference: 'without look-up',
    columns: requestColumns,
    rounds,
    notes: [
      'without look-up: the session and its account are kept in memory after the first request; all else is the same code',
      'registry: as shipped, with its access log',
      ...notes,
    ],
  }
}

/** Logins as fast as the registry takes them, and what other requests then wait for. */
export async function measureLogin(bench: Bench): Promise<Measured> {
  const [load, loginLoad] = [bench.startLoad(), bench.startLoad()]
  const target = await startAccountsServer(bench, 'registry')
  const me = [meText(target, await register(target, 'reader'))]
  await register(target, 'bench')
  const login = [loginText(target, 'bench')]
  const [one, many] = [[''], new Array<string>(logins).fill('')]
  const milliseconds = bench.pick(3000, 700)
  const atOnce = Math.max(1, availableParallelism() - 1)
  const others = () => underLoad(load, target, me, one, milliseconds)
  const logIn = async () => {
    const figures = await underLoad(loginLoad, target, login, many, milliseconds)
    const { rps = 0, p50Ms = 0, p99Ms = 0 } = figures
    return { logins: rps, loginP50Ms: p50Ms, loginP99Ms: p99Ms }
  }
  const entries: Entry[] = [
    {
      name: 'others alone',
      prepare: async () => {
        await underLoad(load, target, me, one, 1000)
        await underLoad(loginLoad, target, login, many, 1000)
      },
      measure: others,
    },
    { name: 'others alone again', measure: others },
    {
      name: 'others beside logins',
      measure: async () => {
        const [figures, logged] = await Promise.all([others(), logIn()])
        return { ...figures, ...logged }
      },
    },
    { name: 'logins alone', measure: logIn },
    {
      name: 'hashes alone',
      measure: async () => ({ logins: await hashRate(atOnce, milliseconds) }),
    },
  ]
  const { rounds, notes } = await compare(entries, bench.pick(7, 3))
  return {
    name: 'login',
    title: `login, ${logins} connections, ${atOnce} hashed at once, beside GET /me on one connection`,
    reference: 'others alone',
    columns: [
      { title: 'times p50', figure: 'p50Ms', show: 'ratio' },
      { title: 'p50 ms', figure: 'p50Ms', show: 'value' },
      { title: 'p99 ms', figure: 'p99Ms', show: 'value' },
      { title: 'others/s', figure: 'rps', show: 'value' },
      { title: 'logins/s', figure: 'logins', show: 'value' },
      { title: 'login p50 ms', figure: 'loginP50Ms', show: 'value' },
      { title: 'login p99 ms', figure: 'loginP99Ms', show: 'value' },
    ],
    rounds,
    notes: [
      'p50, p99, others/s: of GET /me, the next when the one before is answered',
      'hashes alone: Argon2id with the parameters of the registry, in the process of the benchmark',
      ...notes,
    ],
  }
}

async function hashRate(atOnce: number, milliseconds: number): Promise<number> {
  const hash = promisify(argon2)
  const started = performance.now()
  let done = 0
  const work = async () => {
    while (performance.now() - started < milliseconds) {
      await hash('argon2id', {
        ...recommendedCost,
        message: password,
        nonce: randomBytes(16),
        tagLength: 32,
      })
      done++
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  return (done / (performance.now() - started)) * 1000
}
