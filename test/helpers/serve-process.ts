import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { newFolder, stoppedAtEnd } from './cleanup.ts'
import { type Answer, ask } from './mcp.ts'
import { runCommand } from './in-process.ts'
import { cleanEnv, type Ended, firstLine, programStart } from './program.ts'

export interface ServeSettings {
  /** Beside `serve --port 0 --json --registry-dir <a new folder>`. */
  flags?: string[]
  /** Beside PATH, HOME and TMPDIR: no variable of the person who runs the tests gets in. */
  env?: Record<string, string>
  /** Default: a new one. */
  registryDir?: string
}

export interface Exit {
  code: number | null
  signal: NodeJS.Signals | null
  stdout: string
  stderr: string
}

/** A running `serve`: where it is, and what an application does with it. */
export interface RunningServe {
  /** Ends in `/mcp`. */
  readonly url: string
  readonly base: string
  readonly port: number
  readonly hostUrl: string
  readonly hostTokenFile: string | null
  readonly token: string
  readonly instanceId: string
  /** By the origins of `--app-origin`. */
  readonly pageTokens: ReadonlyMap<string, string>
  readonly registryDir: string
  /** All it has written so far. */
  output(): { stdout: string; stderr: string }
  /** POST below `/host/v1/` with the host token; an object is sent as JSON. */
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Answer>
  /** Stores bytes through the host link; resolves with their hash. */
  store(bytes: Buffer | string, query?: string, mime?: string): Promise<string>
  /** Otherwise it stops at the end of the test or file. */
  stop(): Promise<unknown>
}

export type ServeProcess = Awaited<ReturnType<typeof startServeProcess>>

/** Runs `serve` in this process, for starts that must fail. */
export function runServe(args: string[], env: Record<string, string> = {}): Promise<Ended> {
  return runCommand(['serve', ...args], { env: cleanEnv({ HOME: newFolder(), ...env }) })
}

/** Starts the built program, as its user would, and waits for its line. Rejects with its stderr when it ends instead. */
export async function startServeProcess(settings: ServeSettings = {}) {
  const { flags = [], env = {}, registryDir = newFolder() } = settings
  const port = flags.includes('--port') ? [] : ['--port', '0']
  const args = ['serve', ...port, '--json', '--registry-dir', registryDir, ...flags]
  const { child, output, exited } = launch(args, cleanEnv({ HOME: registryDir, ...env }))
  const line = await firstLine(child.stdout)
  if (line === '') {
    const { code, signal, stderr } = await exited
    throw new Error(`serve ended with ${code ?? signal}: ${stderr}`)
  }
  const said = JSON.parse(line)
  const pid: number = said.pid
  return {
    ...runningServe(said, env.SERVICE_HOST_TOKEN),
    pid,
    registryDir,
    exited,
    output,
    /** Resident memory in bytes: now, and the most since the start (or since `resetPeak`). */
    rss: () => ({ now: memory(pid, 'VmRSS'), peak: memory(pid, 'VmHWM') }),
    resetPeak: () => resetPeak(pid),
    /** What its open file descriptors lead to. */
    openFiles: () => openFilesOf(pid),
    signal: (name: NodeJS.Signals) => void child.kill(name),
    /** SIGTERM; resolves with the exit. */
    stop: stoppedAtEnd(() => {
      child.kill('SIGTERM')
      return exited
    }),
  }
}

/** From what `serve` says on stdout. The token is read from its file, if it has one. */
export function runningServe(
  said: {
    url: string
    host_url: string
    host_token_file: string | null
    instance_id: string
    app_origins?: { origin: string; token: string }[]
  },
  givenToken = '',
): Omit<RunningServe, 'registryDir' | 'output' | 'stop'> {
  const { url, host_url: hostUrl, host_token_file: hostTokenFile } = said
  const token = hostTokenFile === null ? givenToken : readText(hostTokenFile)

  async function post(
    path: string,
    body: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    const raw = typeof body === 'string' || Buffer.isBuffer(body)
    const type = { 'Content-Type': 'application/json' }
    const authorization = { Authorization: `Bearer ${token}` }
    return ask(`${hostUrl}/v1/${path}`, {
      method: 'POST',
      headers: { ...type, ...authorization, ...headers },
      body: raw ? body : JSON.stringify(body),
    })
  }

  return {
    url,
    hostUrl,
    hostTokenFile,
    token,
    post,
    base: url.slice(0, -'/mcp'.length),
    port: Number(new URL(url).port),
    instanceId: said.instance_id,
    pageTokens: new Map(said.app_origins?.map(({ origin, token: given }) => [origin, given])),
    async store(bytes, query = '', mime = 'application/octet-stream') {
      const answer = await post(`artefacts${query}`, bytes, { 'Content-Type': mime })
      if (answer.status !== 201) throw new Error(`store: HTTP ${answer.status} ${answer.text}`)
      return answer.json.sha256
    },
  }
}

function launch(args: string[], env: NodeJS.ProcessEnv) {
  const stdio = ['ignore', 'pipe', 'pipe'] as const
  const start = programStart(args, env)
  const child = spawn(process.execPath, start.args, { env: start.env, stdio: [...stdio] })
  const { stdout, stderr } = child
  if (stdout === null || stderr === null) throw new Error('the program has no output')
  const written = { stdout: '', stderr: '' }
  stdout.setEncoding('utf8').on('data', (text: string) => (written.stdout += text))
  stderr.setEncoding('utf8').on('data', (text: string) => (written.stderr += text))
  const exited = once(child, 'close').then(([code, signal]) => ({ code, signal, ...written }))
  return { child: Object.assign(child, { stdout, stderr }), exited, output: () => ({ ...written }) }
}

function memory(pid: number, member: 'VmRSS' | 'VmHWM'): number {
  const line = new RegExp(`^${member}:\\s+(\\d+) kB`, 'm').exec(readText(`/proc/${pid}/status`))
  return Number(line?.[1]) * 1024
}

/** "5" sets the high-water mark back to what is resident now (proc_pid_clear_refs(5)). */
function resetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5')
}

function readText(path: string): string {
  return readFileSync(path, 'utf8')
}

/** What the open file descriptors of a process lead to. */
export function openFilesOf(pid: number): string[] {
  return readdirSync(`/proc/${pid}/fd`).map(fd => linkOf(`/proc/${pid}/fd/${fd}`))
}

/** A descriptor may be closed between the listing and the look. */
function linkOf(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}
