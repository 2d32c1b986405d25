import { mkdtempSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Bench } from './bench.ts'
import { Child } from './child.ts'
import { cleanEnvironment } from './targets.ts'

const startMs = 30_000
const probe = new URL('servers/probe.ts', import.meta.url).href

/** A `gateway` process; it ends with the row. */
export interface MeasuredGateway {
  readonly pid: number
  /** Its MCP endpoint. */
  readonly url: string
  /** Resident bytes after garbage was collected. */
  residentBytes(): Promise<number>
}

export async function startGateway(
  bench: Bench,
  registryDir: string,
  further: readonly string[] = [],
): Promise<MeasuredGateway> {
  const logFile = join(mkdtempSync(join(bench.folder, 'gateway-')), 'stderr.log')
  const { entry } = bench.settings
  const flags = ['--port', '0', '--json', '--registry-dir', registryDir, ...further]
  const argv = ['--import', probe, entry, 'gateway', ...flags]
  const child = bench.adopt(new Child({ argv, env: cleanEnvironment(), logFile }))
  const line = await child.firstLine(startMs).catch((error: Error) => {
    const log = readFileSync(logFile, 'utf8').trim().split('\n').slice(-3).join(' | ')
    throw new Error(`the gateway did not start: ${error.message}; ${log}`)
  })
  return {
    pid: child.pid,
    url: (JSON.parse(line) as { url: string }).url,
    residentBytes: async () => ((await child.ask('memory', null, 60_000)) as { rss: number }).rss,
  }
}
