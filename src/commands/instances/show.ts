import { hostname } from 'node:os'
import { createOutput } from '../../lib/cli/output.ts'
import { warningsTo } from '../../lib/cli/output.ts'
import { watchStopSignals } from '../../lib/cli/stop-signals.ts'
import { monotonicClock, systemClock } from '../../lib/clock.ts'
import { selectRegistryDir } from '../../lib/registry-path.ts'
import { systemTimer } from '../../lib/timer.ts'
import { defaultGatewayLimits } from '../../server/gateway/limits.ts'
import { usage } from '../address-flags.ts'
import { changeLine, emptyText, instanceTable } from './lines.ts'
import type { InstancesSettings } from './settings.ts'

/** Shows what runs; with `watch`, what changes until a signal, or until nobody reads any more. */
export async function showInstances(settings: InstancesSettings): Promise<void> {
  const { json, quiet } = settings
  const output = createOutput({ json, quiet, stdout: process.stdout, stderr: process.stderr })
  const { openFsDirectory } = await import('../../server/gateway/fs-directory.ts')
  const registryDir = selectRegistryDir(settings.registryDir, process.env)
  const { join } = await import('node:path')
  const directory = await openFsDirectory({
    instancesDir: join(registryDir, 'instances'),
    hostname: hostname(),
    clock: systemClock,
    ticks: monotonicClock,
    timer: systemTimer,
    limits: defaultGatewayLimits,
    log: warningsTo(output),
  })
}
