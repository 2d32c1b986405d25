import { expect } from 'chai'
import { silentLogger } from '../../../src/lib/util/logger.ts'
import { fail, ok } from '../../../src/lib/util/result.ts'
import type { BackendName } from '../../../src/server/capture/backend.ts'
import { resolveCaptureLimits } from '../../../src/server/capture/limits.ts'
import { openBackends } from '../../../src/server/capture/open-backends.ts'
import type { CaptureMode } from '../../../src/server/capture/options.ts'
import { planCapture, type Probed } from '../../../src/server/capture/plan.ts'
import { deniedPictures, noApplication } from '../../../src/server/capture/target.ts'
import { WindowCapture } from '../../../src/server/capture/window-capture.ts'
import { skipBecause } from '../../helpers/skip.ts'

const target = ok({ pid: 4711, title: null })
const noTarget = fail(noApplication)
const denied = fail(deniedPictures)
const works: Probed = ok(null)
const because = (reason: string): Probed => fail({ reason, message: `is ${reason}`, hint: 'help' })

describe('planCapture', () => {
  type Probes = Partial<Record<BackendName, Probed>>
  type Row = [
    mode: CaptureMode,
    to: Parameters<typeof planCapture>[0]['target'],
    probes: Probes,
    expected: string,
  ]
  const rows: Record<string, Row> = {
    'off, whatever works': ['off', target, { native: works, host: works }, 'off'],
    'the user said no': ['auto', denied, { native: works, host: works }, 'denied'],
    'nothing tried yet': ['auto', target, {}, 'not_tried'],
    'all work': ['auto', target, { host: works, x11: works, native: works }, 'native x11 host'],
    'one works': ['auto', target, { native: because('no_display'), x11: works }, 'x11'],
    'a mode takes that one alone': ['native', target, { native: because('a'), x11: works }, 'a'],
    'no application': ['auto', noTarget, { native: because('c') }, 'no_application'],
    'an application of unknown process': ['auto', noTarget, { native: works, host: works }, 'host'],
    'host, no application linked': ['host', noTarget, { host: because('e') }, 'e'],
    'what the machine lacks goes before what is not installed': [
      'auto',
      target,
      { native: because('not_installed'), x11: because('no_display'), host: because('d') },
      'no_display',
    ],
    'what is not installed goes before what the application cannot': [
      'auto',
      target,
      { native: because('not_installed'), x11: because('not_installed'), host: because('d') },
      'not_installed',
    ],
  }
  for (const [what, [mode, to, probes, expected]] of Object.entries(rows)) {
    it(`${what}: ${expected}`, () => {
      const known = new Map(Object.entries(probes) as [BackendName, Probed][])
      const plan = planCapture({ mode, target: to, probes: known })
      expect(plan.ok ? plan.value.join(' ') : plan.failure.reason).to.equal(expected)
    })
  }
})

describe('openBackends', () => {
  const silent = { reason: 'host_disconnected', message: 'nobody' } as const
  const app = { offered: () => fail(noApplication), ask: async () => fail(silent) }

  it('makes backends that without a display are not available, and no error', async function () {
    // Elsewhere a desktop needs no variable to be there.
    if (process.platform !== 'linux') skipBecause(this, 'this is the order on Linux')
    const backends = await openBackends('auto', app, {})
    const parts = {
      mode: 'auto',
      backends,
      limits: resolveCaptureLimits(),
      log: silentLogger,
    } as const
    const capture = new WindowCapture(parts, noApplication)
    capture.aim(ok({ pid: process.pid, title: null }))
    await capture.tried
    expect(capture.unavailable?.reason).to.equal('no_display')
    expect(capture.unavailable?.hint).to.be.a('string').and.not.equal('')
    await capture.close()
  })
})
