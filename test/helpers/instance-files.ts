import { randomUUID } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { silentLogger } from '../../src/lib/util/logger.ts'
import { createInstanceRecord, InstanceFile } from '../../src/server/host/instance-record.ts'

export interface InstanceSettings {
  /** Default: a new one. */
  readonly instanceId?: string
  readonly dccType?: string
  readonly heartbeatMs?: number
  /** Default: an address of nobody, where no probe reaches anything. */
  readonly url?: string
  /** Default: this process. */
  readonly pid?: number
}

/** A record of this very process, as `serve` keeps one. */
export async function writeInstance(
  registryDir: string,
  settings: InstanceSettings = {},
): Promise<InstanceFile> {
  const { dccType = 'maya', heartbeatMs = 5000, url = 'https://studio.example/mcp' } = settings
  const { instanceId = randomUUID() } = settings
  const instancesDir = join(registryDir, 'instances')
  await mkdir(instancesDir, { recursive: true, mode: 0o700 })
  const facts = {
    instance_id: instanceId,
    dcc_type: dccType,
    mcp_url: url,
    host_url: url.startsWith('http:') ? new URL('/host', url).href : 'http://127.0.0.1:1/host',
    host_token_file: null,
    version: '1.0.0',
  }
  const own = createInstanceRecord(facts)
  const { pid = own.pid } = settings
  const record = pid === own.pid ? own : { ...own, pid, pid_start: null }
  return InstanceFile.create({ instancesDir, heartbeatMs, record, log: silentLogger })
}
