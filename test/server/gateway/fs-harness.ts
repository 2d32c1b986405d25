import { mkdtemp, rm, utimes, writeFile } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { systemClock } from '../../../src/lib/util/time.ts'
import { recordFile } from '../../../src/lib/instances/files.ts'
import { silentLogger } from '../../../src/lib/util/logger.ts'
import {
  type FsDirectoryOptions,
  openFsDirectory,
} from '../../../src/server/gateway/fs-directory.ts'
import { defaultPublicLimits } from '../../../src/lib/config/limits.ts'
import { type GatewayLimits, resolveGatewayLimits } from '../../../src/lib/config/gateway-limits.ts'
import { InstanceFile } from '../../../src/server/host/instance-record.ts'
import { ManualTime } from '../../unit/resources/manual-time.ts'
import type { DirectoryUnderTest, Registered } from './directory-scenario.ts'

export interface FsDirectoryUnderTest extends DirectoryUnderTest {
  readonly folder: string
}

/** A directory of real files whose timers and watch move only when told. */
export async function openFsUnderTest(
  overrides: Partial<GatewayLimits> = {},
  log = silentLogger,
): Promise<FsDirectoryUnderTest> {
  const folder = await mkdtemp(join(tmpdir(), 'directory-'))
  const time = new ManualTime()
  let shiftMs = 0
  const options: FsDirectoryOptions = {
    instancesDir: folder,
    hostname: hostname(),
    clock: { now: () => systemClock.now() + shiftMs },
    ticks: time,
    timer: time,
    limits: { ...defaultPublicLimits, ...resolveGatewayLimits(overrides) },
    log,
  }
  const directory = await openFsDirectory(options)
  const registered: InstanceFile[] = []
  const armed = time.waiting
  /** A timer that fired is set again when its pass is over; of a closed directory none is. */
  async function advance(ms: number): Promise<void> {
    const isOpen = time.waiting > 0
    time.advance(ms)
    const end = performance.now() + 10_000
    while (isOpen && time.waiting < armed) {
      if (performance.now() > end) throw new Error('the looks at the folder do not end')
      await setImmediate()
    }
  }
  return {
    folder,
    directory,
    liveReason: 'its process runs and its heartbeat is fresh',
    async pass(ms) {
      for (let left = ms; left > 0; left -= 500) await advance(Math.min(500, left))
    },
    freeze: advance,
    setTimeOfDay(ms) {
      shiftMs = ms
    },
    async register(record) {
      const file = await InstanceFile.create({
        instancesDir: folder,
        record,
        heartbeatMs: 1_000_000,
        log: silentLogger,
      })
      registered.push(file)
      return withBeats(file)
    },
    place: (id, text) => writeFile(recordFile(folder, id), text),
    again: () => openFsDirectory({ ...options, timer: new ManualTime() }),
    async close() {
      await directory.close()
      await Promise.all(registered.map(file => file.remove()))
      await rm(folder, { recursive: true, force: true })
    },
  }
}

function withBeats(file: InstanceFile): Registered {
  return {
    update: patch => file.update(patch),
    async beat(beatShiftMs = 0) {
      const at = (systemClock.now() + beatShiftMs) / 1000
      await utimes(file.path, at, at)
    },
    remove: () => file.remove(),
  }
}
