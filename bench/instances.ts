/** Instance records, as `serve` writes them, of instances that are not there. */
import { randomUUID } from 'node:crypto'
import { mkdirSync, utimesSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { processStart } from '../src/lib/instances/process.ts'

export interface Herd {
  stop(): void
}

const beatMs = 5000
const ticksPerBeat = 50

/**
 * Writes `count` records into the folder, all of this process, and touches `beating` of them every
 * 5 seconds, spread over that time. Asked whether they are ready, all of them are.
 */
export async function startHerd(
  registryDir: string,
  count: number,
  beating: number,
): Promise<Herd> {
  const folder = join(registryDir, 'instances')
  mkdirSync(registryDir, { mode: 0o700 })
  mkdirSync(folder, { mode: 0o700 })
  const server = createServer((_req, res) => res.end('{"status":"ready"}'))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const pidStart = processStart(process.pid)
  const files = Array.from({ length: count }, (_, at) => {
    const id = randomUUID()
    const file = join(folder, `${id}.json`)
    writeFileSync(file, recordText(id, at, port, pidStart), { mode: 0o600 })
    return file
  })
  let tick = 0
  const touch = () => {
    const now = new Date()
    for (let at = tick; at < beating; at += ticksPerBeat) utimesSync(files[at] ?? '', now, now)
    tick = (tick + 1) % ticksPerBeat
  }
  const timer = setInterval(touch, beatMs / ticksPerBeat)
  return {
    stop() {
      clearInterval(timer)
      server.closeAllConnections()
      server.close()
    },
  }
}

function recordText(id: string, at: number, port: number, pidStart: string | null): string {
  return JSON.stringify({
    schema_version: 1,
    instance_id: id,
    dcc_type: at % 2 === 0 ? 'blender' : 'maya',
    display_name: `workstation ${at}`,
    pid: process.pid,
    pid_start: pidStart,
    hostname: hostname(),
    mcp_url: `http://127.0.0.1:${port}/mcp`,
    host_url: `http://127.0.0.1:${port}/host`,
    host_token_file: null,
    version: '0.1.0',
    host: { connected: true, app_pid: process.pid, version: '4.2.0', mode: 'gui' },
    scene: `/projects/show/shots/${at}/layout.blend`,
    scene_set_at: null,
    status: 'available',
    started_at: new Date().toISOString(),
    metadata: { user: 'bench' },
  })
}
