import { randomUUID } from 'node:crypto'
import {
  type DirectoryRecord,
  InstanceDirectory,
  type InstanceEntry,
  type RecordFault,
  type Verdict,
} from '../../src/server/gateway/instance-directory.ts'

/** A directory of instances that a test fills by hand. */
export class MemoryDirectory extends InstanceDirectory {
  listening = 0

  override onChange(notify: Parameters<InstanceDirectory['onChange']>[0]): () => void {
    const stop = super.onChange(notify)
    this.listening++
    return () => {
      stop()
      this.listening--
    }
  }

  /** Adds the instances, or replaces those of the same id; told at once, together. */
  put(...entries: readonly InstanceEntry[]): void {
    this.update(entries.map(entry => [entry.record.instance_id, { entry }]))
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
}

/** A live instance of Blender, but for what is given. */
export function entry(
  record: Partial<DirectoryRecord> = {},
  verdict: Partial<Verdict> = {},
): InstanceEntry {
  return Object.freeze<InstanceEntry>({
    record: {
      schema_version: 1,
      instance_id: randomUUID(),
      dcc_type: 'blender',
      display_name: 'Blender on desk',
      pid: 4711,
      pid_start: '100',
      hostname: 'desk',
      mcp_url: 'http://127.0.0.1:8765/mcp',
      host_url: 'http://127.0.0.1:8765/host',
      host_token_file: null,
      version: '0.1.0',
      host: { connected: true, app_pid: 4712, version: '4.2.0', mode: 'gui' },
      scene: '/shots/010/layout.blend',
      scene_set_at: null,
      status: 'available',
      started_at: '2026-01-02T03:04:05.678Z',
      metadata: {},
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
