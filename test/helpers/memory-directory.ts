import { randomUUID } from 'node:crypto'
import type {
  DirectoryRecord,
  InstanceChange,
  InstanceDirectory,
  InstanceEntry,
  RecordFault,
  Verdict,
} from '../../src/server/gateway/instance-directory.ts'

/** A directory of instances that a test fills by hand. */
export class MemoryDirectory implements InstanceDirectory {
  entries: readonly InstanceEntry[] = Object.freeze([])
  faults: readonly RecordFault[] = Object.freeze([])
  readonly #listeners = new Set<(changes: InstanceChange[]) => void>()

  get listening(): number {
    return this.#listeners.size
  }

  onChange(listener: (changes: InstanceChange[]) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  async refresh(): Promise<void> {}

  async close(): Promise<void> {
    this.#listeners.clear()
  }

  /** Adds the instances, or replaces those of the same id; told at once, together. */
  put(...entries: readonly InstanceEntry[]): void {
    const byId = new Map(this.entries.map(each => [each.record.instanceId, each]))
    const changes = entries.map((entry): InstanceChange => {
      const known = byId.has(entry.record.instanceId)
      byId.set(entry.record.instanceId, entry)
      return { kind: known ? 'changed' : 'appeared', entry }
    })
    this.entries = Object.freeze([...byId.values()])
    this.#tell(changes)
  }

  /** Another verdict on an instance that is there. */
  judge(instanceId: string, health: Verdict['health'], reason: string): void {
    const entry = this.#get(instanceId)
    this.put({ ...entry, verdict: { ...entry.verdict, health, reason } })
  }

  remove(instanceId: string): void {
    const entry = this.#get(instanceId)
    this.entries = Object.freeze(this.entries.filter(each => each !== entry))
    this.#tell([{ kind: 'gone', entry }])
  }

  fault(fault: RecordFault): void {
    this.faults = Object.freeze([...this.faults, fault])
    this.#tell([{ kind: 'faults' }])
  }

  #get(instanceId: string): InstanceEntry {
    const entry = this.entries.find(({ record }) => record.instanceId === instanceId)
    if (entry === undefined) throw new Error(`no instance ${instanceId}`)
    return entry
  }

  #tell(changes: InstanceChange[]): void {
    for (const listener of this.#listeners) listener(changes)
  }
}

/** A live instance of Blender, but for what is given. */
export function entry(
  record: Partial<DirectoryRecord> = {},
  verdict: Partial<Verdict> = {},
): InstanceEntry {
  return Object.freeze<InstanceEntry>({
    record: {
      instanceId: randomUUID(),
      dccType: 'blender',
      displayName: 'Blender on desk',
      pid: 4711,
      pidStart: '100',
      hostname: 'desk',
      mcpUrl: 'http://127.0.0.1:8765/mcp',
      joined: null,
      localUrl: 'http://127.0.0.1:8765',
      version: '0.1.0',
      host: { connected: true, appPid: 4712, version: '4.2.0', mode: 'gui', sinceMs: undefined },
      scene: '/shots/010/layout.blend',
      sceneSetMs: null,
      status: 'available',
      startedMs: Date.parse('2026-01-02T03:04:05.678Z'),
      metadata: {},
      gateways: undefined,
      ...record,
    },
    verdict: {
      health: 'live',
      reason: 'its heartbeat is fresh',
      heartbeatMs: Date.parse('2026-01-02T04:05:06.789Z'),
      ...verdict,
    },
  })
}
