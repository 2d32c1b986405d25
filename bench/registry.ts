/** A registry to measure, with accounts in it, and how a request of theirs looks. */
import { mkdtempSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Bench } from './bench.ts'
import { Child } from './child.ts'
import { readCpuMs } from './cpu.ts'
import { requestText } from './load/http-text.ts'
import { cleanEnvironment } from './targets.ts'

export interface AccountsTarget {
  readonly name: string
  readonly port: number
  readonly url: string
  cpuMs(): Promise<number>
}

export const password = 'correct horse battery bench'

const api = '/api/v1/auth'
const startMs = 20_000
const probe = new URL('servers/probe.ts', import.meta.url).href
const ownServer = fileURLToPath(new URL('servers/registry.ts', import.meta.url))

/** `shipped`: the program itself; the others: `servers/registry.ts`. */
export type RegistryKind = 'shipped' | 'database' | 'memory'

export async function startAccountsServer(
  bench: Bench,
  name: string,
  kind: RegistryKind = 'shipped',
): Promise<AccountsTarget> {
  const own = mkdtempSync(join(bench.folder, 'registry-'))
  const dataDir = join(own, 'data')
  const logFile = join(own, 'stderr.log')
  const argv =
    kind === 'shipped'
      ? [bench.settings.entry, 'registry', '--port', '0', '--json', '--data-dir', dataDir]
      : [ownServer, dataDir, kind]
  const child = bench.adopt(
    new Child({ argv: ['--import', probe, ...argv], env: cleanEnvironment(), logFile }),
  )
  const line = await child.firstLine(startMs).catch((error: Error) => {
    const log = readFileSync(logFile, 'utf8').trim().split('\n').slice(-3).join(' | ')
    throw new Error(`${name} did not start: ${error.message}; ${log}`)
  })
  const { origin, port } = new URL((JSON.parse(line) as { url: string }).url)
  return {
    name,
    port: Number(port),
    url: origin,
    cpuMs: async () => {
      const outside = readCpuMs(child.pid)
      if (outside !== undefined) return outside
      return ((await child.ask('usage', null, 10_000)) as { cpuMs: number }).cpuMs
    },
  }
}

/** Makes an account and gives the access token of its first session. */
export async function register({ url }: AccountsTarget, username: string): Promise<string> {
  const answer = await fetch(`${url}${api}/register`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ username, email: `${username}@bench.example`, password }),
  })
  if (answer.status !== 201) throw new Error(`the registration was answered ${answer.status}`)
  return ((await answer.json()) as { access_token: string }).access_token
}

export function meText({ port }: AccountsTarget, token: string): string {
  return requestText('GET', {
    port,
    path: `${api}/me`,
    headers: { Authorization: `Bearer ${token}` },
  })
}

export function loginText({ port }: AccountsTarget, username: string): string {
  const headers = { 'Content-Type': 'application/json' }
  return requestText(
    'POST',
    { port, path: `${api}/login`, headers },
    JSON.stringify({ username, password }),
  )
}
