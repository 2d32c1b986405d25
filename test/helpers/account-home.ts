import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type CommandOptions, runCommand } from './in-process.ts'
import { type Ended, cleanEnv, root } from './program.ts'

export interface Said extends Ended {
  readonly args: readonly string[]
}

/** One person's machine: a configuration folder, and all that the program said there. */
export interface AccountHome {
  readonly folder: string
  readonly configPath: string
  env(extra?: NodeJS.ProcessEnv): NodeJS.ProcessEnv
  /** Runs the command in this process. */
  run(args: readonly string[], options?: RunOptions): Promise<Said>
  start(args: readonly string[], options?: RunOptions): ChildProcess
  /** Takes what was said elsewhere (on a terminal) into account. */
  remember(said: Said): void
  config(): string
  /** Where one of the secrets stands in any output, or in a file that is not the configuration. */
  leaks(secrets: readonly string[]): string[]
  remove(): void
}

/** A program has an `input` alone, a command in this process has a `stdout`, too. */
export type RunOptions = CommandOptions

export function createAccountHome(registry: string): AccountHome {
  const folder = mkdtempSync(join(tmpdir(), 'account-'))
  const configPath = join(folder, 'service-cli', 'config.toml')
  const said: Said[] = []
  const env = (extra: NodeJS.ProcessEnv = {}) =>
    cleanEnv({ HOME: folder, XDG_CONFIG_HOME: folder, SERVICE_REGISTRY: registry, ...extra })

  function start(args: readonly string[], { env: extra, input }: RunOptions = {}): ChildProcess {
    const child = spawn(process.execPath, ['bin/run.js', ...args], {
      cwd: root,
      env: env(extra),
      stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    })
    // The program may end without reading.
    child.stdin?.on('error', () => {})
    child.stdin?.end(input)
    return child
  }

  return {
    folder,
    configPath,
    env,
    start,
    async run(args, { env: extra, ...options } = {}) {
      const ended = { args, ...(await runCommand(args, { ...options, env: env(extra) })) }
      said.push(ended)
      return ended
    },
    remember: ended => void said.push(ended),
    config: () => readFileSync(configPath, 'utf8'),
    leaks: secrets => [
      ...said.flatMap(({ args, stdout, stderr }) =>
        found(secrets, stdout + stderr, `output of ${args[0]}`),
      ),
      ...filesBelow(folder)
        .filter(path => path !== configPath)
        .flatMap(path => found(secrets, readFileSync(path, 'latin1'), path)),
    ],
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

function found(secrets: readonly string[], text: string, where: string): string[] {
  return secrets.some(secret => text.includes(secret)) ? [where] : []
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true })
    .map(name => join(folder, String(name)))
    .filter(path => statSync(path).isFile())
}
