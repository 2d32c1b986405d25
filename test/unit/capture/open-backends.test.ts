import { expect } from 'chai'
import { captureModes } from '../../../src/server/capture/options.ts'
import { silentLogger } from '../../../src/lib/util/logger.ts'
import { fail, ok } from '../../../src/lib/util/result.ts'
import { resolveCaptureLimits } from '../../../src/server/capture/limits.ts'
import { openBackends } from '../../../src/server/capture/open-backends.ts'
import { backendOrder } from '../../../src/server/capture/plan.ts'
import { noApplication } from '../../../src/server/capture/target.ts'
import { WindowCapture } from '../../../src/server/capture/window-capture.ts'

const silent = { reason: 'host_disconnected', message: 'nobody' } as const
const app = { offered: () => fail(noApplication), ask: async () => fail(silent) }

describe('openBackends', () => {
  for (const mode of captureModes) {
    it(`opens ${backendOrder(mode).join(', ') || 'nothing'} for ${mode}`, async () => {
      const backends = await openBackends(mode, app, {})
      expect(backends.map(({ name }) => name)).to.deep.equal(backendOrder(mode))
      await Promise.all(backends.map(backend => backend.close?.()))
    })
  }

  it('makes backends that without a display are not available, and no error', async function () {
    // Elsewhere a desktop needs no variable to be there.
    if (process.platform !== 'linux') this.skip()
    const capture = new WindowCapture(
      {
        mode: 'auto',
        backends: await openBackends('auto', app, {}),
        limits: resolveCaptureLimits(),
        log: silentLogger,
      },
      noApplication,
    )
    try {
      capture.aim(ok({ pid: process.pid, title: null }))
      await capture.tried
      expect(capture.unavailable?.reason).to.equal('no_display')
      expect(capture.unavailable?.hint).to.be.a('string').and.not.equal('')
    } finally {
      await capture.close()
    }
  })
})
