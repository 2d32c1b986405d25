import { expect } from 'chai'
import {
  decide,
  type Decision,
  type ElectionRules,
  type ElectionState,
  firstTry,
  type Holder,
} from '../../../src/server/gateway/election.ts'
import { makeActiveGateway } from './active-gateways.ts'

const one = makeActiveGateway()
const other = makeActiveGateway({ instanceId: '99999999-2222-4333-8444-555555555555' })

const holders: Readonly<Record<string, Holder>> = {
  gateway: { kind: 'gateway', active: one },
  'another gateway': { kind: 'gateway', active: other },
  silence: { kind: 'silent', active: null, pid: null },
  'silence of a gateway': { kind: 'silent', active: one, pid: null },
  'silence of a gateway without a record': { kind: 'silent', active: null, pid: 4711 },
  stranger: { kind: 'stranger', answer: 'answers as no gateway does' },
  free: { kind: 'free' },
}

const plain: ElectionRules = { standby: true, patient: false, maxActiveProbeFailures: 3 }
const refusing = { ...plain, standby: false }
const patient = { ...plain, patient: true }

/** What was seen one after the other, and what is done about the last of it. */
function after(
  names: readonly string[],
  rules: ElectionRules,
): { steps: string[]; told: string[] } {
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

function stepName({ step }: Decision): string {
  if (step.kind !== 'again') return step.kind
  return step.soon ? 'soon' : 'wait'
}

const many = (count: number, name: string) => Array.from({ length: count }, () => name)

describe('decide', () => {
  const table: [string, string[], ElectionRules, steps: string[], told: string[]][] = [
    ['stands by behind a gateway', ['gateway'], plain, ['wait'], ['contention']],
    [
      'says so once',
      ['gateway', 'gateway', 'gateway'],
      plain,
      ['wait', 'wait', 'wait'],
      ['contention'],
    ],
    [
      'says so of each gateway',
      ['gateway', 'another gateway', 'gateway'],
      plain,
      ['wait', 'wait', 'wait'],
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
      'reports an unresponsive gateway once, and waits',
      ['gateway', ...many(5, 'silence')],
      plain,
      ['wait', 'soon', 'soon', 'wait', 'wait', 'wait'],
      ['contention', 'resident_unresponsive'],
    ],
    [
      'knows an unresponsive gateway by what it wrote down',
      many(3, 'silence of a gateway'),
      plain,
      ['soon', 'soon', 'wait'],
      ['resident_unresponsive'],
    ],
    [
      'says when it is back',
      [...many(3, 'silence of a gateway'), 'gateway', 'gateway'],
      plain,
      ['soon', 'soon', 'wait', 'wait', 'wait'],
      ['resident_unresponsive', 'resident_recovered'],
    ],
    [
      'stands by behind an unresponsive gateway whose record is gone',
      [...many(4, 'silence of a gateway without a record'), 'stranger', 'stranger'],
      plain,
      ['soon', 'soon', 'wait', 'wait', 'wait', 'wait'],
      ['resident_unresponsive', 'port_taken'],
    ],
    [
      'does not wait for an unresponsive gateway when it is not to',
      many(3, 'silence of a gateway without a record'),
      refusing,
      ['soon', 'soon', 'refuse'],
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
    [
      'tries at once when the port seems free',
      ['gateway', 'free'],
      plain,
      ['wait', 'soon'],
      ['contention'],
    ],
  ]
  for (const [what, names, rules, steps, told] of table) {
    it(what, () => expect(after(names, rules)).to.deep.equal({ steps, told }))
  }

  it('names whom it turns away for', () => {
    const { step } = decide(firstTry, { kind: 'gateway', active: one }, refusing)
    expect(step).to.deep.include({ kind: 'refuse', active: one })
  })
})
