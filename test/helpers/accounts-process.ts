import { type ChildProcess } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { once } from 'node:events'
import { cleanEnv, firstLine, startProgram } from './program.ts'

/** A running accounts server. */
export interface RunningAccounts {
  readonly url: string
  readonly port: number
  readonly dataDir: string
  /** All it has written to stderr so far. */
  stderr(): string
  stop(): Promise<unknown>
}

/** The program running `registry`, as its user would start it. */
export interface AccountsProcess extends RunningAccounts {
  readonly child: ChildProcess
  readonly pid: number
  /** The whole line. */
  readonly said: Record<string, unknown>
  /** SIGTERM; resolves with the exit code, null when a signal ended it. */
  stop(): Promise<number | null>
}

export interface AccountsProcessSettings {
  flags?: readonly string[]
  /** Kept at the end when given. */
  dataDir?: string
  env?: Readonly<Record<string, string>>
}

/** Starts the built program and waits for its line. Rejects with its stderr when it ends instead. */
export async function startAccountsProcess(
  settings: AccountsProcessSettings = {},
): Promise<AccountsProcess> {
  const home = await mkdtemp(join(tmpdir(), 'registry-home-'))
  const dataDir = settings.dataDir ?? join(home, 'data')
  const { flags = [] } = settings
  const port = flags.includes('--port') ? [] : ['--port', '0']
  const args = ['registry', ...port, '--json', '--data-dir', dataDir]
  const env = cleanEnv({ HOME: home, ...settings.env })
  const child = startProgram([...args, ...flags], { env })
  let written = ''
  child.stderr?.setEncoding('utf8').on('data', text => (written += text))
  // With the last of what it wrote, unlike 'exit'.
  const exited = once(child, 'close').then(([code]): number | null => code)
  const line = await firstLine(child.stdout)
  if (line === '') {
    await exited
    await rm(home, { recursive: true, force: true })
    throw new Error(`registry ended: ${written}`)
  }
  const said = JSON.parse(line)
  return {
    child,
    pid: said.pid,
    url: said.url,
    port: Number(new URL(said.url).port),
    said,
    dataDir,
    stderr: () => written,
    async stop() {
      child.kill('SIGTERM')
      const code = await exited
      await rm(home, { recursive: true, force: true })
      return code
    },
  }
}
