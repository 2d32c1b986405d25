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
import { InstanceFile, type InstancePatch } from '../../../src/server/host/instance-record.ts'
import type {
  InstanceChange,
  InstanceDirectory,
  InstanceEntry,
} from '../../../src/server/gateway/instance-directory.ts'
import type { InstanceRecord } from '../../../src/lib/instances/record.ts'
import { ManualTime } from '../../unit/resources/manual-time.ts'
import { type Owner, makeRecord, startOwner } from './support.ts'

export type TestDirectory = Awaited<ReturnType<typeof openTestDirectory>>

/** A directory of real files whose timers and watch move only when told. */
export async function openTestDirectory(
  overrides: Partial<GatewayLimits> = {},
  log = silentLogger,
) {
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
    /** Lets the watch of the directory go on, which looks meanwhile as often as it ever does. */
    async pass(ms: number) {
      for (let left = ms; left > 0; left -= 500) await advance(Math.min(500, left))
    },
    /** The process of the directory is stopped for so long, then goes on. */
    freeze: advance,
    /** Sets the time of day of this machine, by so much against the true one. */
    setTimeOfDay(ms: number) {
      shiftMs = ms
    },
    /** Makes an instance known as its server does. */
    async register(record: InstanceRecord) {
      const file = await InstanceFile.create({
        instancesDir: folder,
        record,
        heartbeatMs: 1_000_000,
        log: silentLogger,
      })
      registered.push(file)
      return withBeats(file)
    },
    /** Leaves a text in place of the record of this id, as anybody could. */
    place: (id: string, text: string) => writeFile(recordFile(folder, id), text),
    /** The same directory as another process has it open. */
    again: () => openFsDirectory({ ...options, timer: new ManualTime() }),
    async close() {
      await directory.close()
      await Promise.all(registered.map(file => file.remove()))
      await rm(folder, { recursive: true, force: true })
    },
  }
}

function withBeats(file: InstanceFile) {
  return {
    update: (patch: InstancePatch) => file.update(patch),
    /** One sign of life; `beatShiftMs`: by a clock that goes wrong by so much. */
    async beat(beatShiftMs = 0) {
      const at = (systemClock.now() + beatShiftMs) / 1000
      await utimes(file.path, at, at)
    },
    /** Clean deregistration. */
    remove: () => file.remove(),
  }
}

/** One directory with instances of real processes, for one test. */
export class Scenario {
  readonly under: TestDirectory
  readonly #owners: Owner[] = []

  constructor(under: TestDirectory) {
    this.under = under
  }

  get directory(): InstanceDirectory {
    return this.under.directory
  }

  /** An instance that belongs to a process of its own. */
  async owned(changes: Partial<InstanceRecord> = {}) {
    const owner = await startOwner()
    this.#owners.push(owner)
    const record = makeRecord({ pid: owner.pid, pid_start: owner.pidStart, ...changes })
    return { owner, record, registered: await this.under.register(record) }
  }

  async find(record: InstanceRecord): Promise<InstanceEntry> {
    await this.directory.refresh()
    const id = record.instance_id
    const found = this.directory.entries.find(entry => entry.record.instanceId === id)
    if (found === undefined) throw new Error(`${id} is not listed`)
    return found
  }

  async verdictOf(record: InstanceRecord): Promise<InstanceEntry['verdict']> {
    return (await this.find(record)).verdict
  }

  async healthOf(record: InstanceRecord): Promise<string> {
    return (await this.verdictOf(record)).health
  }

  listen(): { readonly batches: Batches; readonly stop: () => void } {
    const batches: (readonly InstanceChange[])[] = []
    return { batches, stop: this.directory.onChange(changes => void batches.push(changes)) }
  }

  async close(): Promise<void> {
    await this.under.close()
    await Promise.all(this.#owners.map(owner => owner.kill()))
  }
}

type Batches = readonly (readonly InstanceChange[])[]

export function kinds(batches: Batches): string[][] {
  return batches.map(changes => changes.map(({ kind }) => kind))
}
