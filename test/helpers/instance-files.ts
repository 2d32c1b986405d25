import { randomUUID } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { systemClock } from '../../src/lib/clock.ts'
import { silentLogger } from '../../src/lib/logger.ts'
import { createInstanceRecord, InstanceFile } from '../../src/server/host/instance-record.ts'

/** A record of this very process, as `serve` keeps one; nobody serves at its address. */
export async function writeInstance(
  registryDir: string,
  { dccType = 'maya', heartbeatMs = 5000 }: { dccType?: string; heartbeatMs?: number } = {},
): Promise<InstanceFile> {
  const instancesDir = join(registryDir, 'instances')
  await mkdir(instancesDir, { recursive: true, mode: 0o700 })
  const facts = {
    instanceId: randomUUID(),
    dccType,
    name: undefined,
    // A host of nobody: no probe reaches anything.
    url: 'https://studio.example/mcp',
    hostUrl: 'http://127.0.0.1:1/host',
    hostTokenFile: null,
    version: '1.0.0',
  }
  const record = await createInstanceRecord(facts, systemClock)
  return InstanceFile.create({ instancesDir, heartbeatMs, record, log: silentLogger })
}
