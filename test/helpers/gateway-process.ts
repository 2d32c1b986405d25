import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { stoppedAtEnd } from './cleanup.ts'
import { until } from './until.ts'
import { cleanEnv, startProgram } from './program.ts'

export interface GatewaySettings {
  readonly port: number
  readonly registryDir: string
  readonly flags?: readonly string[]
  /** Besides those of a plain user. */
  readonly env?: Readonly<Record<string, string>>
}

interface Exit {
  code: number | null
  signal: NodeJS.Signals | null
}

/** A gateway that listens, stands by or has failed. */
export interface RunningGateway extends GatewayLines {
  stderr(): string
  stop(): Promise<void>
}

interface GatewayLines {
  /** What it says on stdout with `--json`, line by line. */
  readonly lines: readonly any[]
  /** The first line of this event; waits for it. */
  line(event: string): Promise<any>
  has(event: string): boolean
}

export type GatewayProcess = ReturnType<typeof startGatewayProcess>

/** The program running `gateway`, as its user would start it. Returns at once: it may stand by, or end, instead of listening. */
export function startGatewayProcess(settings: GatewaySettings) {
  const { port, registryDir, flags = [], env } = settings
  const args = ['gateway', '--json', `--port=${port}`, `--registry-dir=${registryDir}`, ...flags]
  const child = startProgram(args, env && { env: cleanEnv(env) })
  const { stdout, stderr: errors } = child
  if (stdout === null || errors === null) throw new Error('the program has no output')
  const lines: any[] = []
  createInterface({ input: stdout }).on('line', line => lines.push(JSON.parse(line)))
  let stderr = ''
  errors.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  const exited = once(child, 'close').then(([code, signal]): Exit => ({ code, signal }))
  const failed = exited.then(({ code, signal }) => {
    throw new Error(`the gateway ended with ${code ?? signal}: ${stderr}`)
  })

  async function end(signal: NodeJS.Signals): Promise<void> {
    child.kill(signal)
    await exited
  }

  return {
    child,
    pid: child.pid ?? 0,
    ...linesOf(lines, failed),
    stderr: () => stderr,
    exited,
    /** SIGKILL; settles when the process is gone. */
    kill: () => end('SIGKILL'),
    stop: stoppedAtEnd(() => end('SIGTERM')),
  }
}

/** Reads the lines of a gateway that adds to them until `ended` settles. */
export function linesOf(lines: readonly any[], ended: Promise<unknown>): GatewayLines {
  const find = (event: string) => lines.find(line => line.event === event)
  let hasEnded = false
  ended.catch(() => {}).finally(() => (hasEnded = true))
  return {
    lines,
    async line(event) {
      await until(() => find(event) !== undefined || hasEnded, `the line "${event}"`)
      const found = find(event)
      if (found !== undefined) return found
      await ended
      throw new Error(`no "${event}" before the end`)
    },
    has: event => find(event) !== undefined,
  }
}
