import { expect } from 'chai'
import type { CaptureMode } from '../../../src/server/capture/options.ts'
import { fail, ok } from '../../../src/lib/util/result.ts'
import type { BackendName, CaptureFailure } from '../../../src/server/capture/backend.ts'
import {
  isDoubtful,
  nextBackends,
  outsideTrouble,
  planCapture,
  type Probed,
  tellingFailure,
} from '../../../src/server/capture/plan.ts'
import { deniedPictures, noApplication } from '../../../src/server/capture/target.ts'

const target = ok({ pid: 4711, title: null })
const noTarget = fail(noApplication)
const because = (reason: string): Probed => fail({ reason, message: `is ${reason}`, hint: 'help' })
type Probes = Partial<Record<BackendName, Probed>>
const map = (probes: Probes) =>
  new Map(Object.entries(probes) as [BackendName, Probed][]) as ReadonlyMap<BackendName, Probed>

const rows: [
  what: string,
  mode: CaptureMode,
  hasTarget: boolean,
  probes: Probes,
  expected: string,
][] = [
  ['off, whatever works', 'off', true, { native: ok(null), host: ok(null) }, 'off'],
  ['nothing tried yet', 'auto', true, {}, 'not_tried'],
  [
    'all work',
    'auto',
    true,
    { host: ok(null), x11: ok(null), native: ok(null) },
    'native x11 host',
  ],
  ['one works', 'auto', true, { native: because('no_display'), x11: ok(null) }, 'x11'],
  ['only the application itself', 'auto', true, { native: because('x'), host: ok(null) }, 'host'],
  ['a mode takes that one alone', 'x11', true, { native: ok(null), x11: ok(null) }, 'x11'],
  ['and no other in its place', 'native', true, { native: because('a'), x11: ok(null) }, 'a'],
  ['host alone', 'host', true, { native: ok(null), host: because('b') }, 'b'],
  ['no application: no backend probed', 'auto', false, { native: ok(null) }, 'no_application'],
  ['no application, no display', 'auto', false, { native: because('c') }, 'no_application'],
  [
    'the application of unknown process',
    'auto',
    false,
    { native: ok(null), host: ok(null) },
    'host',
  ],
  ['host needs no process', 'host', false, { host: ok(null) }, 'host'],
  [
    'host, no application linked',
    'host',
    false,
    { host: because('no_application') },
    'no_application',
  ],
  [
    'what is missing on the machine goes before what is not installed',
    'auto',
    true,
    { native: because('not_installed'), x11: because('no_display'), host: because('d') },
    'no_display',
  ],
  [
    'what is not installed goes before what the application cannot',
    'auto',
    true,
    { native: because('not_installed'), x11: because('not_installed'), host: because('d') },
    'not_installed',
  ],
]

describe('planCapture', () => {
  it('returns `denied` after the user opts out, whatever the backends answered before', () => {
    const probes = map({ native: ok(null), host: ok(null) })
    const plan = planCapture({ mode: 'auto', target: fail(deniedPictures), probes })
    expect(plan.ok ? '' : plan.failure.reason).to.equal('denied')
  })

  for (const [what, mode, hasTarget, probes, expected] of rows) {
    it(`${what}: ${expected}`, () => {
      const plan = planCapture({ mode, target: hasTarget ? target : noTarget, probes: map(probes) })
      expect(plan.ok ? plan.value.join(' ') : plan.failure.reason).to.equal(expected)
    })
  }
})

describe('outsideTrouble', () => {
  it('is null while one of them works, and while nothing is known', () => {
    expect(outsideTrouble('auto', map({ native: because('a'), x11: ok(null) }))).to.equal(null)
    expect(outsideTrouble('auto', map({ host: because('a') }))).to.equal(null)
  })

  it('is of the mode that is asked for', () => {
    const probes = map({ native: because('no_display'), x11: ok(null) })
    expect(outsideTrouble('native', probes)?.reason).to.equal('no_display')
  })
})

const remaining: readonly BackendName[] = ['x11', 'host']
const served: [reason: CaptureFailure['reason'], next: string, doubtful: boolean][] = [
  ['covered', 'host', false],
  ['minimised', 'host', false],
  ['no_window', 'x11 host', false],
  ['blank', 'x11 host', false],
  ['permission', 'x11 host', true],
  ['no_display', 'x11 host', true],
  ['timeout', 'x11 host', true],
  ['failed', 'x11 host', true],
  ['host_busy', 'x11 host', false],
  ['host_disconnected', 'x11 host', true],
]

describe('after a failed capture', () => {
  for (const [reason, next, doubtful] of served) {
    it(`${reason}: ${next} may still give a picture${doubtful ? ', and all are probed' : ''}`, () => {
      expect(nextBackends(reason, remaining).join(' ')).to.equal(next)
      expect(isDoubtful(reason)).to.equal(doubtful)
    })
  }

  const of = (...reasons: CaptureFailure['reason'][]) =>
    tellingFailure(reasons.map(reason => ({ reason, message: reason }))).reason

  it('the reader learns the first cause', () => {
    expect(of('minimised', 'host_busy')).to.equal('minimised')
    expect(of('failed', 'timeout', 'covered', 'host_busy')).to.equal('covered')
    expect(of('timeout', 'failed')).to.equal('timeout')
    expect(of()).to.equal('failed')
  })
})
