import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

/** What `service-cli serve --json` says about itself when it listens. */
export interface Announcement {
  event: string
  url: string
  pid: number
  host_url: string
  host_token_file: string
  instance_id: string
}

/** A `service-cli serve` of its own process, and the application's side of it. */
export interface Serving extends Announcement {
  /** Posts to the host link as an application does; throws unless the answer is 2xx. */
  post(path: string, body: unknown): Promise<unknown>
  upload(bytes: Uint8Array, mime: string, name: string): Promise<{ uri: string; sha256: string }>
  /** What it wrote to stderr so far. */
  log(): string
  /** SIGTERM; resolves with the exit code. */
  stop(): Promise<number | null>
}

const program = fileURLToPath(new URL('../../bin/run.js', import.meta.url))
const startDeadlineMs = 20_000
const stopDeadlineMs = 10_000

/** The environment without the settings of whoever runs the tests. */
export function cleanEnvironment(home: string): NodeJS.ProcessEnv {
  const theirs = /^(SERVICE_|XDG_(CONFIG|DATA)_HOME$)/
  const own = Object.entries(process.env).filter(([name]) => !theirs.test(name))
  return { ...Object.fromEntries(own), HOME: home }
}

export async function startServe(
  registryDir: string,
  flags: readonly string[] = [],
  port = 0,
): Promise<Serving> {
  const address = ['--port', String(port), '--registry-dir', registryDir]
  const args = ['serve', '--json', ...address, ...flags]
  const child = spawn(process.execPath, [program, ...args], {
    env: cleanEnvironment(registryDir),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let log = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (log += text))
  const announced = await firstLine(child).catch((error: unknown) => {
    child.kill('SIGKILL')
    throw new Error(`serve did not start: ${String(error)}\n${log}`)
  })
  const said = JSON.parse(announced) as Announcement
  const token = (await readFile(said.host_token_file, 'utf8')).trim()

  async function send(
    path: string,
    body: string | Uint8Array<ArrayBuffer>,
    type: string,
  ): Promise<unknown> {
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': type }
    const answer = await fetch(`${said.host_url}/v1/${path}`, { method: 'POST', headers, body })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`POST ${path}: ${answer.status} ${text}`)
    return JSON.parse(text)
  }

  return {
    ...said,
    post: (path, body) => send(path, JSON.stringify(body), 'application/json'),
    async upload(bytes, mime, name) {
      const query = new URLSearchParams({ display_name: name })
      const answer = await send(`artefacts?${query}`, Uint8Array.from(bytes), mime)
      return answer as { uri: string; sha256: string }
    },
    log: () => log,
    stop: () => end(child),
  }
}

async function firstLine(child: ChildProcess): Promise<string> {
  const { stdout } = child
  if (stdout === null) throw new Error('no stdout')
  const lines = createInterface({ input: stdout })
  const [line] = await Promise.race([
    once(lines, 'line', { signal: AbortSignal.timeout(startDeadlineMs) }),
    once(child, 'exit').then(([code]) => {
      throw new Error(`exit code ${code}`)
    }),
  ])
  // Whatever follows must not fill the pipe.
  stdout.resume()
  return line as string
}

/** SIGTERM and the exit code; SIGKILL when the process does not obey in time. */
export async function end(child: ChildProcess): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  const killer = setTimeout(() => child.kill('SIGKILL'), stopDeadlineMs)
  await exited
  clearTimeout(killer)
  return child.exitCode
}
