import type {
  InstanceChange,
  InstanceDirectory,
  InstanceEntry,
} from '../../../src/server/gateway/instance-directory.ts'
import type { InstanceRecord } from '../../../src/lib/instances/record.ts'
import type { InstancePatch } from '../../../src/server/host/instance-record.ts'
import { type Owner, makeRecord, startOwner } from './support.ts'

export interface DirectoryUnderTest {
  readonly directory: InstanceDirectory
  /** The reason of the verdict on an instance that is alive. */
  readonly liveReason: string
  /** Lets the watch of the directory go on, which looks meanwhile as often as it ever does. */
  pass(ms: number): Promise<void>
  /** The process of the directory is stopped for so long, then goes on. */
  freeze(ms: number): Promise<void>
  /** Sets the time of day of this machine, by so much against the true one. */
  setTimeOfDay(shiftMs: number): void
  /** Makes an instance known as its server does. */
  register(record: InstanceRecord): Promise<Registered>
  /** Leaves a text in place of the record of this id, as anybody could. */
  place(instanceId: string, text: string): Promise<void>
  /** The same directory as another process has it open. */
  again(): Promise<InstanceDirectory>
  close(): Promise<void>
}

export interface Registered {
  update(patch: InstancePatch): Promise<void>
  /** One sign of life; `shiftMs`: by a clock that goes wrong by so much. */
  beat(shiftMs?: number): Promise<void>
  /** Clean deregistration. */
  remove(): Promise<void>
}

/** One directory with instances of real processes, for one test. */
export class Scenario {
  readonly under: DirectoryUnderTest
  readonly #owners: Owner[] = []

  constructor(under: DirectoryUnderTest) {
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
