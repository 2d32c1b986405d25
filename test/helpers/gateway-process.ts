import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { until } from './until.ts'
import { cleanEnv, startProgram } from './program.ts'

export interface GatewaySettings {
  readonly port: number
  readonly registryDir: string
  readonly flags?: readonly string[]
  /** Besides those of a plain user. */
  readonly env?: Readonly<Record<string, string>>
}

/** The program running `gateway`, as its user would start it. */
export interface GatewayProcess {
  readonly child: ChildProcess
  readonly pid: number
  /** What it said on stdout, line by line. */
  readonly lines: readonly any[]
  stderr(): string
  /** The first line of this event; waits for it. */
  line(event: string): Promise<any>
  has(event: string): boolean
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
  /** SIGKILL; settles when the process is gone. */
  kill(): Promise<void>
  /** SIGTERM; settles when the process is gone. */
  stop(): Promise<void>
}

/** Returns at once: it may stand by, or end, instead of listening. */
export function startGatewayProcess(settings: GatewaySettings): GatewayProcess {
  const { port, registryDir, flags = [], env } = settings
  const args = ['gateway', '--json', `--port=${port}`, `--registry-dir=${registryDir}`, ...flags]
  const child = startProgram(args, env && { env: cleanEnv(env) })
  const { stdout, stderr: errors } = child
  if (stdout === null || errors === null) throw new Error('the program has no output')
  const lines: any[] = []
  createInterface({ input: stdout }).on('line', line => lines.push(JSON.parse(line)))
  let stderr = ''
  errors.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  const exited = once(child, 'close').then(([code, signal]) => ({ code, signal }))
  const find = (event: string) => lines.find(line => line.event === event)

  async function end(signal: NodeJS.Signals): Promise<void> {
    child.kill(signal)
    await exited
  }

  return {
    child,
    pid: child.pid ?? 0,
    lines,
    stderr: () => stderr,
    async line(event) {
      const ended = () => child.exitCode !== null || child.signalCode !== null
      await until(() => find(event) !== undefined || ended(), `the line "${event}"`)
      const found = find(event)
      if (found === undefined) {
        const { code, signal } = await exited
        throw new Error(`no "${event}" before the end (${code ?? signal}): ${stderr}`)
      }
      return found
    },
    has: event => find(event) !== undefined,
    exited,
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
  }
}
