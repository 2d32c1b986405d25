import { mkdtemp, rm, utimes, writeFile } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { systemClock } from '../../../src/lib/util/time.ts'
import { recordFile } from '../../../src/lib/instances/files.ts'
import type { InstanceRecord } from '../../../src/lib/instances/record.ts'
import { silentLogger } from '../../../src/lib/util/logger.ts'
import {
  type FsDirectoryOptions,
  openFsDirectory,
} from '../../../src/server/gateway/fs-directory.ts'
import type {
  InstanceChange,
  InstanceDirectory,
  InstanceEntry,
} from '../../../src/server/gateway/instance-directory.ts'
import { InstanceFile, type InstancePatch } from '../../../src/server/host/instance-record.ts'
import { ManualTime } from '../../unit/resources/manual-time.ts'
import { makeRecord, type Owner, startOwner } from './support.ts'
import { type Bounds, boundsWith } from '../../helpers/bounds.ts'

/** An instance that has made itself known, as its server does. */
export interface Registered {
  readonly id: string
  update(patch: InstancePatch): Promise<void>
  /** One heartbeat; `shiftMs`: by a clock that is wrong by that much. */
  beat(shiftMs?: number): Promise<void>
  /** Clean deregistration. */
  remove(): Promise<void>
}

/** A directory over real files whose timers move only when told. */
export interface RecordsOnDisk {
  readonly folder: string
  readonly directory: InstanceDirectory
  /** Lets time go on; the directory looks meanwhile as often as it does by itself. */
  pass(ms: number): Promise<void>
  /** The process of the directory is stopped for that long, then goes on. */
  freeze(ms: number): Promise<void>
  /** Sets the time of day, by that much against the true one. */
  setTimeOfDay(shiftMs: number): void
  register(record: InstanceRecord): Promise<Registered>
  /** Registers an instance that belongs to a process of its own. */
  registerOwned(): Promise<Registered & { readonly owner: Owner }>
  /** Writes a text in place of a record. */
  place(id: string, text: string): Promise<void>
  /** The same directory as another process has it open. */
  again(): Promise<InstanceDirectory>
  /** What the directory says of an instance after another look. */
  find(id: string): Promise<InstanceEntry>
  healthOf(id: string): Promise<string>
  /** The kinds of the changes that are told from now on, of each time. */
  listen(): InstanceChange['kind'][][]
  close(): Promise<void>
}

export async function openRecordsOnDisk(overrides: Partial<Bounds> = {}): Promise<RecordsOnDisk> {
  const folder = await mkdtemp(join(tmpdir(), 'directory-'))
  const time = new ManualTime()
  let shiftMs = 0
  const options: FsDirectoryOptions = {
    instancesDir: folder,
    hostname: hostname(),
    clock: { now: () => systemClock.now() + shiftMs },
    ticks: time,
    timer: time,
    limits: boundsWith(overrides),
    log: silentLogger,
  }
  const directory = await openFsDirectory(options)
  const registered: InstanceFile[] = []
  const owners: Owner[] = []
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
  async function register(record: InstanceRecord): Promise<Registered> {
    const file = await InstanceFile.create({
      instancesDir: folder,
      record,
      heartbeatMs: 1_000_000,
      log: silentLogger,
    })
    registered.push(file)
    return {
      id: record.instance_id,
      update: patch => file.update(patch),
      async beat(beatShiftMs = 0) {
        const at = (systemClock.now() + beatShiftMs) / 1000
        await utimes(file.path, at, at)
      },
      remove: () => file.remove(),
    }
  }
  async function find(id: string): Promise<InstanceEntry> {
    await directory.refresh()
    const found = directory.entries.find(({ record }) => record.instanceId === id)
    if (found === undefined) throw new Error(`${id} is not listed`)
    return found
  }
  return {
    folder,
    directory,
    async pass(ms) {
      for (let left = ms; left > 0; left -= 500) await advance(Math.min(500, left))
    },
    freeze: advance,
    setTimeOfDay(ms) {
      shiftMs = ms
    },
    register,
    async registerOwned() {
      const owner = await startOwner()
      owners.push(owner)
      const { pid, pidStart: pid_start } = owner
      return { ...(await register(makeRecord({ pid, pid_start }))), owner }
    },
    place: (id, text) => writeFile(recordFile(folder, id), text),
    again: () => openFsDirectory({ ...options, timer: new ManualTime() }),
    find,
    healthOf: async id => (await find(id)).verdict.health,
    listen() {
      const heard: InstanceChange['kind'][][] = []
      directory.onChange(changes => void heard.push(changes.map(({ kind }) => kind)))
      return heard
    },
    async close() {
      await directory.close()
      await Promise.all([
        ...owners.map(owner => owner.kill()),
        ...registered.map(file => file.remove()),
      ])
      await rm(folder, { recursive: true, force: true })
    },
  }
}
