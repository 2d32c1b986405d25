import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { hostname } from 'node:os'
import { processStart } from '../../../src/lib/instances/process.ts'
import type { InstanceRecord } from '../../../src/lib/instances/record.ts'

/** A record as a server writes it; by default that of this process. */
export function makeRecord(changes: Partial<InstanceRecord> = {}): InstanceRecord {
  return {
    schema_version: 1,
    instance_id: randomUUID(),
    dcc_type: 'blender',
    display_name: 'Blender 4.2',
    pid: process.pid,
    pid_start: null,
    hostname: hostname(),
    mcp_url: 'http://127.0.0.1:8765/mcp',
    host_url: 'http://127.0.0.1:8765/host',
    host_token_file: '/secret/of/the/host.token',
    version: '0.1.0',
    host: { connected: true, app_pid: 7, version: '4.2.0', mode: 'gui' },
    scene: '/shots/010/shot.blend',
    scene_set_at: null,
    status: 'available',
    started_at: '2026-01-01T00:00:00.000Z',
    metadata: { studio: 'north' },
    ...changes,
  }
}

/** A process that does nothing until it is killed. */
export async function startOwner() {
  const child = spawn('sleep', ['600'], { stdio: 'ignore' })
  const exited = once(child, 'exit')
  await once(child, 'spawn')
  const pid = child.pid ?? 0
  return {
    pid,
    pidStart: processStart(pid),
    /** As a crash: nothing of it is cleaned up. Resolves when it is gone. */
    async kill() {
      child.kill('SIGKILL')
      await exited
    },
  }
}
