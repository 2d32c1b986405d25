import { expect } from 'chai'
import {
  activeGatewayJson,
  parseActiveGateway,
  registryMark,
} from '../../../src/server/gateway/active-gateway.ts'
import {
  decide,
  type Decision,
  elect,
  type ElectionEvent,
  ElectionLost,
  type ElectionRules,
  type ElectionState,
  firstTry,
  type Holder,
} from '../../../src/server/gateway/election.ts'
import { type PortNews, reportOf } from '../../../src/server/gateway/election-report.ts'
import { makeActiveGateway } from './active-gateways.ts'

const active = makeActiveGateway()
const other = makeActiveGateway({ instanceId: '99999999-2222-4333-8444-555555555555' })

describe('what a gateway says of itself', () => {
  const said = activeGatewayJson(active)
  const text = (members: object) => JSON.stringify({ ...said, ...members })

  it('is understood by another', () => {
    expect(parseActiveGateway(text({}))).to.deep.equal(active)
    expect(parseActiveGateway(text({ pid_start: null }))).to.deep.equal(
      makeActiveGateway({ pidStart: null }),
    )
  })

  const strange: [string, string][] = [
    ['nothing', ''],
    ['what serve says', '{"status":"ok"}'],
    ['another program', text({ service: 'nginx' })],
    ['an id that is none', text({ instance_id: '../../etc' })],
    ['every process', text({ pid: 0 })],
    ['no address', text({ url: 'file:///etc/passwd' })],
    ['no version', text({ version: 3 })],
    ['no time', text({ started_at: 'yesterday' })],
    ['a deep answer', `${'['.repeat(20)}${']'.repeat(20)}`],
  ]
  for (const [what, answer] of strange) {
    it(`is not said by ${what}`, () => expect(parseActiveGateway(answer)).to.equal(null))
  }

  it('is safe to show', () => {
    const parsed = parseActiveGateway(text({ version: '\u001b[2J1', registry: 'a\nb'.repeat(100) }))
    expect(parsed?.version).to.equal('1')
    expect(parsed?.registry).to.have.length(64).and.not.contain('\n')
  })

  it('identifies the state directory without its path', () => {
    expect(registryMark('/tmp/a'))
      .to.match(/^[0-9a-f]{16}$/)
      .and.not.equal(registryMark('/tmp/b'))
  })
})

describe('decide', () => {
  const holders: Readonly<Record<string, Holder>> = {
    gateway: { kind: 'gateway', active },
    'another gateway': { kind: 'gateway', active: other },
    silence: { kind: 'silent', active: null },
    'silence of a gateway': { kind: 'silent', active },
    stranger: { kind: 'stranger', answer: 'answers as no gateway does' },
    free: { kind: 'free' },
  }
  const plain: ElectionRules = { standby: true, patient: false, maxActiveProbeFailures: 3 }
  const refusing = { ...plain, standby: false }
  const patient = { ...plain, patient: true }
  const many = (count: number, name: string) => Array.from({ length: count }, () => name)

  function stepName({ step }: Decision): string {
    if (step.kind !== 'again') return step.kind
    return step.soon ? 'soon' : 'wait'
  }

  /** What was seen one after the other, and what is done about each. */
  function after(names: readonly string[], rules: ElectionRules) {
    let state: ElectionState = firstTry
    const steps: string[] = []
    const told: string[] = []
    for (const name of names) {
      const holder = holders[name]
      if (holder === undefined) throw new Error(`who is ${name}?`)
      const decision = decide(state, holder, rules)
      state = decision.state
      steps.push(stepName(decision))
      told.push(...decision.events.map(({ event }) => event))
    }
    return { steps, told }
  }

  const table: [string, string[], ElectionRules, steps: string[], told: string[]][] = [
    [
      'stands by behind a gateway, which it tells once of each',
      ['gateway', 'gateway', 'another gateway', 'gateway'],
      plain,
      ['wait', 'wait', 'wait', 'wait'],
      ['contention', 'contention', 'contention'],
    ],
    ['does not wait when it is not to', ['gateway'], refusing, ['refuse'], []],
    [
      'needs three silent probes in a row to call a gateway unresponsive',
      ['gateway', 'silence', 'silence', 'gateway', 'silence', 'silence'],
      plain,
      ['wait', 'soon', 'soon', 'wait', 'soon', 'soon'],
      ['contention'],
    ],
    [
      'reports an unresponsive gateway once, and when it is back',
      ['gateway', ...many(4, 'silence'), 'gateway', 'gateway'],
      plain,
      ['wait', 'soon', 'soon', 'wait', 'wait', 'wait', 'wait'],
      ['contention', 'resident_unresponsive', 'resident_recovered'],
    ],
    [
      'knows an unresponsive gateway by what it wrote down',
      many(3, 'silence of a gateway'),
      plain,
      ['soon', 'soon', 'wait'],
      ['resident_unresponsive'],
    ],
    ['turns away at a stranger', ['stranger'], plain, ['refuse'], []],
    ['turns away at silence', many(3, 'silence'), plain, ['soon', 'soon', 'refuse'], []],
    [
      'refuses when the port stays free but cannot be bound',
      many(10, 'free'),
      plain,
      [...many(9, 'soon'), 'refuse'],
      [],
    ],
    [
      'waits behind a stranger that came in between',
      ['gateway', 'free', 'stranger', 'stranger'],
      plain,
      ['wait', 'soon', 'wait', 'wait'],
      ['contention', 'port_taken'],
    ],
    [
      'waits behind a stranger when it is patient',
      ['stranger', 'stranger'],
      patient,
      ['wait', 'wait'],
      ['port_taken'],
    ],
  ]
  for (const [what, names, rules, steps, told] of table) {
    it(what, () => expect(after(names, rules)).to.deep.equal({ steps, told }))
  }
})

describe('elect', () => {
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
        look: async () => {
          const holder = holders[Math.min(counts.looks++, holders.length - 1)]
          if (holder === undefined) throw new Error('no look')
          return holder
        },
        lost,
        close: () => void counts.closed++,
      },
      tell: news => void told.push(news),
      signal: contest.signal ?? new AbortController().signal,
    })
    return { won, told, counts }
  }

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
    stop.abort(new Error('enough'))
    expect(await won.catch((error: unknown) => error)).to.deep.include({ message: 'enough' })
    expect(counts).to.include({ tries: 2, closed: 1 })
  })

  it('rejects with the active gateway when it must not stand by', async () => {
    const { won, counts } = run({ holders: [gateway], rules: { standby: false } })
    const error = await won.catch((cause: unknown) => cause)
    expect(error).to.be.instanceOf(ElectionLost).and.deep.include({ active })
    expect(counts.closed).to.equal(1)
  })
})

describe('reportOf', () => {
  const by = { instanceId: other.instanceId, port: 9765, registry: active.registry }
  const table: [ElectionEvent | PortNews, level: string, told: string, about: string][] = [
    [{ event: 'takeover', from: active, yielded: false }, 'info', 'without a word', '9999'],
    [{ event: 'contention', active }, 'info', 'standing by', '1111'],
    [{ event: 'resident_unresponsive', active }, 'warn', 'accepts connections', '1111'],
    [{ event: 'port_taken', reason: 'answers oddly' }, 'warn', 'which answers oddly', '9999'],
  ]
  for (const [news, level, told, about] of table) {
    it(`says of ${news.event}: ${told}`, () => {
      const report = reportOf(news, by)
      expect(report.level).to.equal(level)
      expect(report.message).to.contain(told)
      expect(report.entry).to.include({ event: news.event, reason: report.message })
      expect(report.entry.instanceId?.slice(0, 4)).to.equal(about)
    })
  }

  it('warns of a gateway that shows another state directory', () => {
    const report = reportOf({ event: 'contention', active }, { ...by, registry: 'other' })
    expect(report.level).to.equal('warn')
    expect(report.message).to.contain('another state directory')
  })
})
