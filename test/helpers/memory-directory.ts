import { randomUUID } from 'node:crypto'
import { ChangeEmitter } from '../../src/server/gateway/change-emitter.ts'
import type {
  DirectoryRecord,
  InstanceDirectory,
  InstanceEntry,
  RecordFault,
  Verdict,
} from '../../src/server/gateway/instance-directory.ts'

/** A directory of instances that a test fills by hand. */
export class MemoryDirectory extends ChangeEmitter implements InstanceDirectory {
  listening = 0

  override onChange(notify: Parameters<ChangeEmitter['onChange']>[0]): () => void {
    const stop = super.onChange(notify)
    this.listening++
    return () => {
      stop()
      this.listening--
    }
  }

  async close(): Promise<void> {}

  /** Adds the instances, or replaces those of the same id; told at once, together. */
  put(...entries: readonly InstanceEntry[]): void {
    this.update(entries.map(entry => [entry.record.instanceId, { entry }]))
  }

  /** Another verdict on an instance that is there. */
  judge(instanceId: string, health: Verdict['health'], reason: string): void {
    const entry = this.entryOf(instanceId)
    if (entry === undefined) throw new Error(`no instance ${instanceId}`)
    this.put({ ...entry, verdict: { ...entry.verdict, health, reason } })
  }

  remove(instanceId: string): void {
    this.update([[instanceId, {}]])
  }

  fault(fault: RecordFault): void {
    this.update([[fault.source, { fault }]])
  }

  mend({ source }: RecordFault): void {
    this.update([[source, {}]])
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
