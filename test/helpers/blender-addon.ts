import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cleanEnvironment } from '../clients/serve.ts'
import { runProgram } from './program.ts'

/** Where the Python files are that run inside Blender. */
export const insideBlender = fileURLToPath(new URL('../adapters/blender/', import.meta.url))

export interface BlenderRun {
  readonly child: ChildProcess
  readonly pid: number
  /** Of both streams. */
  output(): string
  /** Rejects when Blender ends with an error; never resolves. */
  readonly failed: Promise<never>
  readonly exited: Promise<number | null>
}

/** A user's own Blender folders with the add-on installed from the zip of `adapter blender`. */
export interface InstalledAddon {
  readonly folder: string
  run(args: readonly string[], env?: NodeJS.ProcessEnv, command?: readonly string[]): BlenderRun
  remove(): Promise<void>
}

export function hasPrograms(...names: string[]): boolean {
  return names.every(name => spawnSync('which', [name]).status === 0)
}

/** A Blender that runs for longer than `deadlineMs` is ended. */
export async function installAddon(deadlineMs = 100_000): Promise<InstalledAddon> {
  const folder = await mkdtemp(join(tmpdir(), 'service-cli-addon-'))
  const [scripts, config, zip] = ['scripts', 'config', 'addon.zip'].map(name => join(folder, name))
  await Promise.all([mkdir(scripts ?? ''), mkdir(config ?? '')])
  const installed: InstalledAddon = {
    folder,
    run: (args, env = {}, command = ['blender']) => {
      const ownEnv = {
        ...cleanEnvironment(folder),
        // Where Blender leaves the session it had when it quits.
        TMPDIR: folder,
        BLENDER_USER_SCRIPTS: scripts,
        BLENDER_USER_CONFIG: config,
        ...env,
      }
      return start([...command, ...args], ownEnv, deadlineMs)
    },
    remove: () => rm(folder, { recursive: true, force: true, maxRetries: 3 }),
  }
  const written = await runProgram(['adapter', 'blender', '--out', zip ?? ''])
  if (written.code !== 0) throw new Error(`adapter blender: ${written.stderr}`)
  const install = `import bpy; bpy.ops.preferences.addon_install(filepath=${JSON.stringify(zip)})`
  const blender = installed.run([...background, '--python-expr', install])
  if ((await blender.exited) !== 0) throw new Error(`installing failed\n${blender.output()}`)
  return installed
}

/** Without the settings of whoever runs the tests; an uncaught error is exit code 7. */
export const background = ['-b', '--factory-startup', '--python-exit-code', '7']

function start(
  [program = '', ...args]: readonly string[],
  env: NodeJS.ProcessEnv,
  timeout: number,
): BlenderRun {
  const child = spawn(program, args, { env, stdio: ['pipe', 'pipe', 'pipe'], timeout })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (output += text))
  }
  // What follows a failed Blender is told by its exit code.
  child.stdin.on('error', () => {})
  const exited = once(child, 'close').then(([code]) => code as number | null)
  const failed = exited.then(code =>
    code === 0
      ? new Promise<never>(() => {})
      : Promise.reject(new Error(`Blender ended with ${code}\n${output}${crashReports(env)}`)),
  )
  failed.catch(() => {})
  return { child, pid: child.pid ?? 0, output: () => output, failed, exited }
}

/** A Blender that crashes leaves its backtrace in the folder for temporary files. */
function crashReports({ TMPDIR: folder = '' }: NodeJS.ProcessEnv): string {
  const names = readdirSync(folder).filter(name => name.endsWith('.crash.txt'))
  return names.map(name => `\n${readFileSync(join(folder, name), 'utf8')}`).join('')
}
