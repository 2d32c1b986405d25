import { expect } from 'chai'
import {
  elect,
  type ElectionEvent,
  ElectionLost,
  type ElectionRules,
  type Holder,
} from '../../../src/server/gateway/election.ts'
import { makeActiveGateway } from './active-gateways.ts'

const active = makeActiveGateway()
const gateway: Holder = { kind: 'gateway', active }
const never = new Promise<void>(() => {})

interface Contest {
  /** What each look finds; the last one stays. */
  holders: readonly Holder[]
  rules?: Partial<ElectionRules>
  /** The try that binds the port. */
  wins?: number
  retryMs?: number
  lost?: () => Promise<void>
  signal?: AbortSignal
}

function run(contest: Contest) {
  const { holders, wins = Infinity, retryMs = 1, lost = () => never } = contest
  const told: ElectionEvent[] = []
  const counts = { tries: 0, looks: 0, closed: 0 }
  const won = elect({
    rules: { standby: true, patient: false, maxActiveProbeFailures: 3, ...contest.rules },
    retryMs,
    bind: () => Promise.resolve(++counts.tries < wins ? null : 'the port'),
    probe: {
      look: () => {
        const holder = holders[Math.min(counts.looks++, holders.length - 1)]
        return holder === undefined ? Promise.reject(new Error('no look')) : Promise.resolve(holder)
      },
      lost,
      close: () => void counts.closed++,
    },
    tell: news => void told.push(news),
    signal: contest.signal ?? new AbortController().signal,
  })
  return { won, told, counts }
}

describe('elect', () => {
  it('binds a free port without a probe', async () => {
    const { won, told, counts } = run({ holders: [], wins: 1 })
    expect(await won).to.deep.equal({ won: 'the port', from: null })
    expect(told).to.deep.equal([])
    expect(counts).to.deep.equal({ tries: 1, looks: 0, closed: 1 })
  })

  it('stands by behind a gateway, and takes over from it', async () => {
    const { won, told } = run({ holders: [gateway], wins: 4 })
    expect(await won).to.deep.equal({ won: 'the port', from: active })
    expect(told).to.deep.equal([{ event: 'contention', active }])
  })

  it('retries immediately when the connection to the active gateway ends', async () => {
    let looked = 0
    // Were it not for the connection, it would wait for an hour.
    const lost = () => (++looked === 1 ? Promise.resolve() : never)
    const { won } = run({ holders: [gateway], wins: 2, retryMs: 3_600_000, lost })
    expect((await won).won).to.equal('the port')
  })

  it('does not retry without a pause when each connection ends', async () => {
    const stop = new AbortController()
    const lost = () => Promise.resolve()
    const contest = { holders: [gateway], retryMs: 3_600_000, lost, signal: stop.signal }
    const { won, counts } = run(contest)
    for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate)
    expect(counts.tries).to.equal(2)
    stop.abort()
    await won.catch(() => {})
  })

  it('rejects when it is cancelled while waiting', async () => {
    const stop = new AbortController()
    const contest = { holders: [gateway], retryMs: 3_600_000, signal: stop.signal }
    const { won, counts } = run(contest)
    // Its next try would come after an hour.
    while (counts.tries === 0) await new Promise(setImmediate)
    stop.abort(new Error('enough'))
    expect(await won.catch((error: unknown) => error)).to.deep.include({ message: 'enough' })
    expect(counts).to.include({ tries: 1, closed: 1 })
  })

  it('rejects with the active gateway when it must not stand by', async () => {
    const { won, counts } = run({ holders: [gateway], rules: { standby: false } })
    const error = await won.catch((cause: unknown) => cause)
    expect(error).to.be.instanceOf(ElectionLost).and.deep.include({ active })
    expect(counts.closed).to.equal(1)
  })
})
