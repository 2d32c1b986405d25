import { existsSync, mkdtempSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Child } from './child.ts'
import { readCpuMs } from './cpu.ts'
import { fixtureEnvironment, type Fixture } from './fixture.ts'
import type { Place } from './load/http-text.ts'

/** Every server that can be measured; ours are `serve` and `reference`, an earlier build of it. */
export const targetNames = [
  'bare-http',
  'bare-http again',
  'bare-parsed',
  'bare-prepared',
  'plain-hono',
  'sdk1',
  'sdk',
  'serve',
  'reference',
] as const
/** `bare-relay` is measured where a row asks for it. */
export type TargetName = (typeof targetNames)[number] | 'bare-relay'

/** A server process that listens. */
export interface Target {
  readonly name: TargetName
  readonly pid: number
  readonly port: number
  readonly origin: string
  /** The MCP endpoint. */
  readonly mcp: Place
  /** A path of the host link, with what authorises it. */
  host(path: string, headers?: Readonly<Record<string, string>>): Place
  cpuMs(): Promise<number>
  /** Resident bytes after garbage was collected. */
  residentBytes(): Promise<number>
  stop(): Promise<void>
  killNow(): void
}

export interface StartOptions {
  readonly name: TargetName
  readonly fixture: Fixture
  /** A folder for this run, removed by the caller. */
  readonly folder: string
  /** The program whose `serve` is measured. */
  readonly entry: string
  /** Further arguments of `serve`. */
  readonly serveArguments?: readonly string[]
  /** Of `serve`; else an empty one of its own. */
  readonly registryDir?: string
  /** Beside the environment of the benchmark. */
  readonly env?: Readonly<Record<string, string>>
}

/** Whether it is a build of ours, which stores what is posted to it. */
export function isOurs(name: TargetName): boolean {
  return name === 'serve' || name === 'reference'
}

const startMs = 20_000
const probe = new URL('servers/probe.ts', import.meta.url).href

export async function startTarget(options: StartOptions): Promise<Target> {
  const { name } = options
  if (isOurs(name) && !existsSync(options.entry)) {
    throw new Error(`${options.entry} does not exist: build the project first`)
  }
  const own = mkdtempSync(join(options.folder, `${name.replace(' ', '-')}-`))
  const logFile = join(own, 'stderr.log')
  const child = new Child({
    argv: ['--import', probe, ...commandOf(options, own)],
    env: { ...cleanEnvironment(), ...fixtureEnvironment(own, options.fixture), ...options.env },
    logFile,
  })
  try {
    const line = JSON.parse(await child.firstLine(startMs)) as Listening
    return describeTarget(name, child, line)
  } catch (error) {
    await child.stop()
    const log = readFileSync(logFile, 'utf8').trim().split('\n').slice(-3).join(' | ')
    throw new Error(`${name} did not start: ${(error as Error).message}; ${log}`)
  }
}

interface Listening {
  readonly url: string
  readonly host_url: string
  readonly host_token_file?: string
}

function commandOf(options: StartOptions, own: string): string[] {
  if (isOurs(options.name)) {
    const registry = options.registryDir ?? join(own, 'registry')
    const further = options.serveArguments ?? []
    return [options.entry, 'serve', '--port', '0', '--json', '--registry-dir', registry, ...further]
  }
  if (options.name === 'bare-prepared') return [serverFile('bare-parsed'), 'prepared']
  return [serverFile(options.name.replace(' again', ''))]
}

function serverFile(name: string): string {
  return fileURLToPath(new URL(`servers/${name}.ts`, import.meta.url))
}

/** Keys and folders of whoever runs the benchmark stay out of it. */
export function cleanEnvironment(): NodeJS.ProcessEnv {
  const entries = Object.entries(process.env)
  return Object.fromEntries(entries.filter(([name]) => !name.startsWith('SERVICE_')))
}

function describeTarget(name: TargetName, child: Child, line: Listening): Target {
  const mcp = new URL(line.url)
  const host = new URL(line.host_url)
  const port = Number(mcp.port)
  const authorization: Record<string, string> =
    line.host_token_file === undefined
      ? {}
      : { Authorization: `Bearer ${readFileSync(line.host_token_file, 'utf8').trim()}` }
  return {
    name,
    pid: child.pid,
    port,
    origin: mcp.origin,
    mcp: { port, path: mcp.pathname },
    host: (path, headers = {}) => ({
      port: Number(host.port),
      path: host.pathname.replace(/\/$/, '') + path,
      headers: { ...authorization, ...headers },
    }),
    cpuMs: async () => {
      const outside = readCpuMs(child.pid)
      if (outside !== undefined) return outside
      return ((await child.ask('usage', null, 10_000)) as { cpuMs: number }).cpuMs
    },
    residentBytes: async () => ((await child.ask('memory', null, 60_000)) as { rss: number }).rss,
    stop: () => child.stop(),
    killNow: () => child.killNow(),
  }
}
