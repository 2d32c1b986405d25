// A process that stands for many instances: it writes their records, and touches some regularly.
import { randomUUID } from 'node:crypto'
import { mkdirSync, utimesSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { recordFile } from '../../src/lib/instances/state-directory.ts'
import { processStart } from '../../src/lib/instances/process.ts'
import type { InstanceRecord } from '../../src/lib/instances/record.ts'
import { answerQuestions } from '../child-messages.ts'

const [folder = '', count = '0', beating = '0'] = process.argv.slice(2)
const heartbeatMs = 5000
const pidStart = processStart(process.pid)
mkdirSync(folder, { recursive: true, mode: 0o700 })
const paths = Array.from({ length: Number(count) }, (_, at) => write(at))
for (const [at, path] of paths.slice(0, Number(beating)).entries()) {
  const beat = () => utimesSync(path, new Date(), new Date())
  // Spread over the interval, as those of real processes are.
  setTimeout(() => setInterval(beat, heartbeatMs), (at / Number(beating)) * heartbeatMs)
}

answerQuestions({ written: () => paths.length })

function write(at: number): string {
  const record: InstanceRecord = {
    schema_version: 1,
    instance_id: randomUUID(),
    dcc_type: 'blender',
    display_name: `Blender ${at}`,
    pid: process.pid,
    pid_start: pidStart,
    hostname: hostname(),
    mcp_url: `http://127.0.0.1:${20_000 + at}/mcp`,
    host_url: `http://127.0.0.1:${20_000 + at}/host`,
    host_token_file: null,
    version: '0.1.0',
    host: { connected: true, app_pid: process.pid, version: '4.2.0', mode: 'gui' },
    scene: `/shots/${at}/shot.blend`,
    scene_set_at: null,
    status: 'available',
    started_at: new Date(Date.UTC(2026, 0, 1) + at).toISOString(),
    metadata: {},
  }
  const path = recordFile(folder, record.instance_id)
  writeFileSync(path, `${JSON.stringify(record, null, 2)}\n`, { mode: 0o600 })
  return path
}
