import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

const require = createRequire(import.meta.url)
const suite = join(
  dirname(require.resolve('@modelcontextprotocol/conformance/package.json')),
  'dist',
  'index.js',
)

/** What the suite may find missing at a revision. */
export const baselineOf = (revision: string) =>
  join(import.meta.dirname, `expected-failures-${revision}.yaml`)

export const resourceScenarios = [
  'resources-list',
  'resources-read-text',
  'resources-read-binary',
  'resources-templates-read',
]

/** Runs the suite on a server; `home` keeps what it writes. */
export function runSuite(
  url: string,
  args: readonly string[],
  home: string,
): Promise<{ code: number | string; text: string }> {
  const env = { ...process.env, HOME: home, NO_COLOR: '1' }
  return new Promise(resolve => {
    execFile(
      process.execPath,
      [suite, 'server', '--url', url, ...args],
      { cwd: home, env, timeout: 100_000, maxBuffer: 64 * 1024 * 1024 },
      (error, stdout, stderr) => resolve({ code: error?.code ?? 0, text: stdout + stderr }),
    )
  })
}

interface Check {
  readonly id: string
  readonly status: string
}

/** The checks of every scenario that wrote into the folder. */
export async function readChecks(output: string): Promise<ReadonlyMap<string, readonly Check[]>> {
  const found = new Map<string, readonly Check[]>()
  for (const folder of await readdir(output)) {
    const scenario = /^server-(.+)-\d{4}-\d\d-\d\dT/.exec(folder)?.[1]
    if (scenario === undefined) continue
    const text = await readFile(join(output, folder, 'checks.json'), 'utf8')
    found.set(scenario, JSON.parse(text) as Check[])
  }
  return found
}
