import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { hostname } from 'node:os'
import { processStart } from '../../../src/lib/util/process.ts'
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
export interface Owner {
  readonly pid: number
  readonly pidStart: string | null
  /** As a crash: nothing of it is cleaned up. Resolves when it is gone. */
  kill(): Promise<void>
}

export async function startOwner(): Promise<Owner> {
  const child = spawn('sleep', ['600'], { stdio: 'ignore' })
  const exited = once(child, 'exit')
  await once(child, 'spawn')
  const pid = child.pid ?? 0
  return {
    pid,
    pidStart: await processStart(pid),
    async kill() {
      child.kill('SIGKILL')
      await exited
    },
  }
}

/** Texts that are no record of `id`, and what is said of each. */
export function badRecords(id: string): readonly [what: string, text: string, reason: string][] {
  const wrong = (changes: object): string =>
    JSON.stringify({ ...makeRecord({ instance_id: id }), ...changes })
  return [
    ['nothing', '', 'not valid JSON'],
    ['half a record', wrong({}).slice(0, 100), 'not valid JSON'],
    ['a list', '[]', 'not a JSON object'],
    ['null', 'null', 'not a JSON object'],
    ['a giant', wrong({ scene: 'x'.repeat(70_000) }), 'larger than 65536 bytes'],
    ['deep nesting', `{"metadata":${'['.repeat(5000)}${']'.repeat(5000)}}`, 'deeper than 16'],
    ['a deep object', wrong({ metadata: nested(20) }), 'deeper than 16'],
    ['a newer version', wrong({ schema_version: 2 }), 'schema_version 2'],
    ['a version in words', wrong({ schema_version: 'one' }), 'schema_version'],
    ['a version in exponents', wrong({ schema_version: 1e300 }), 'schema_version'],
    ['no version', wrong({ schema_version: undefined }), 'schema_version'],
    ['the id of another', wrong({ instance_id: randomUUID() }), 'claims to be instance'],
    ['an id that is no text', wrong({ instance_id: 1 }), 'instance_id must be a string'],
    ['an id in capitals', wrong({ instance_id: id.toUpperCase() }), 'claims to be instance'],
    ['no kind', wrong({ dcc_type: undefined }), '/dcc_type is required'],
    ['an empty kind', wrong({ dcc_type: '' }), '/dcc_type'],
    ['an invisible kind', wrong({ dcc_type: '\u202e\u2066' }), '/dcc_type'],
    ['a kind of two lines', wrong({ dcc_type: 'a\nb' }), '/dcc_type'],
    ['a kind that is a list', wrong({ dcc_type: ['blender'] }), '/dcc_type'],
    ["the gateway's own kind", wrong({ dcc_type: '__gateway__' }), 'must not begin with'],
    ['an endless kind', wrong({ dcc_type: 'x'.repeat(300) }), '/dcc_type'],
    ['no host name', wrong({ hostname: undefined }), '/hostname is required'],
    ['a pid of all processes', wrong({ pid: -1 }), '/pid'],
    ['a pid of the own group', wrong({ pid: 0 }), '/pid'],
    ['a pid that is a text', wrong({ pid: '1' }), '/pid'],
    ['a fraction of a pid', wrong({ pid: 1.5 }), '/pid'],
    ['a pid that cannot be', wrong({ pid: 2 ** 40 }), '/pid'],
    ['a start that is a number', wrong({ pid_start: 5 }), '/pid_start'],
    ['no address', wrong({ mcp_url: undefined }), '/mcp_url is required'],
    ['an address that is none', wrong({ mcp_url: 'blender' }), '/mcp_url'],
    ['a file as address', wrong({ mcp_url: 'file:///etc/passwd' }), '/mcp_url'],
    ['a script as address', wrong({ mcp_url: 'javascript:alert(1)' }), '/mcp_url'],
    ['an endless address', wrong({ mcp_url: `http://a/${'x'.repeat(3000)}` }), '/mcp_url'],
    ['an address with a password', wrong({ mcp_url: 'http://u:p@127.0.0.1/' }), '/mcp_url'],
    ['a host that is a text', wrong({ host: 'connected' }), '/host must be an object'],
    ['a wrong host', wrong({ host: { connected: 'yes' } }), '/host/connected'],
    ['a host of pid 0', wrong({ host: { app_pid: 0 } }), '/host/app_pid'],
    ['a scene that is an object', wrong({ scene: {} }), '/scene'],
    ['an unknown status', wrong({ status: 'fine' }), '/status'],
    ['no start', wrong({ started_at: undefined }), '/started_at is required'],
    ['a start in words', wrong({ started_at: 'yesterday' }), '/started_at'],
    ['a list of metadata', wrong({ metadata: ['a'] }), '/metadata'],
  ]
}

function nested(levels: number): object {
  return levels === 0 ? {} : { in: nested(levels - 1) }
}
