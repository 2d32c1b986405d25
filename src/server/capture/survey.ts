import { fail } from '../../lib/util/result.ts'
import { silentLogger } from '../../lib/util/logger.ts'
import { monotonicClock, systemTimer } from '../../lib/util/time.ts'
import type { BackendName, Unavailable } from './backend.ts'
import { defaultCaptureLimits } from './limits.ts'
import { openBackends } from './open-backends.ts'
import { Probes } from './probes.ts'
import { noApplication } from './target.ts'

/** What a backend that looks from outside says of this machine and session. */
export interface SurveyedBackend {
  readonly name: BackendName
  /** Null: it can capture windows here. */
  readonly unavailable: Unavailable | null
}

const noApp = {
  offered: () => fail(noApplication),
  ask: async () =>
    fail({ reason: 'host_disconnected', message: 'there is no application' } as const),
}

/** Asks every backend that needs no application, once. */
export async function surveyCapture(): Promise<readonly SurveyedBackend[]> {
  const backends = (await openBackends('auto', noApp)).filter(({ name }) => name !== 'host')
  const { promise, resolve } = Promise.withResolvers<void>()
  const parts = { limits: defaultCaptureLimits, ticks: monotonicClock, timer: systemTimer }
  const probes = new Probes({ ...parts, backends, log: silentLogger, changed() {}, done: resolve })
  probes.look()
  await promise
  probes.close()
  await Promise.all(backends.map(async backend => backend.close?.()))
  return backends.flatMap(({ name }) => {
    const probed = probes.results.get(name)
    return probed === undefined ? [] : { name, unavailable: probed.ok ? null : probed.failure }
  })
}
