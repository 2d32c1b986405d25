import { cleanEnvironment, startServe } from '../clients/serve.ts'
import { forFile } from './cleanup.ts'
import { runProgram } from './program.ts'
import { skipBecause } from './skip.ts'
import { until } from './until.ts'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, readdirSync } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

/** Where the Python files are that run inside Blender. */
export const insideBlender = fileURLToPath(new URL('../adapters/blender/', import.meta.url))

export type InstalledAddon = Awaited<ReturnType<typeof installAddon>>

export function hasPrograms(...names: string[]): boolean {
  return names.every(name => spawnSync('which', [name]).status === 0)
}

/**
 * A user's own Blender folders with the add-on installed from the zip of `adapter blender`. A Blender
 * that runs for longer than `deadlineMs` is ended.
 */
export async function installAddon(deadlineMs = 100_000) {
  const folder = await mkdtemp(join(tmpdir(), 'service-cli-addon-'))
  const [scripts, config, zip] = [
    join(folder, 'scripts'),
    join(folder, 'config'),
    join(folder, 'a.zip'),
  ]
  await Promise.all([mkdir(scripts), mkdir(config)])
  const ownEnv = {
    ...cleanEnvironment(folder),
    // Where Blender leaves the session it had when it quits.
    TMPDIR: folder,
    BLENDER_USER_SCRIPTS: scripts,
    BLENDER_USER_CONFIG: config,
  }
  const run = (
    args: readonly string[],
    env: NodeJS.ProcessEnv = {},
    command: readonly string[] = ['blender'],
  ) => start([...command, ...args], { ...ownEnv, ...env }, deadlineMs)
  const written = await runProgram(['adapter', 'blender', '--out', zip])
  if (written.code !== 0) throw new Error(`adapter blender: ${written.stderr}`)
  const install = `import bpy; bpy.ops.preferences.addon_install(filepath=${JSON.stringify(zip)})`
  const blender = run([...background, '--python-expr', install])
  if ((await blender.exited) !== 0) throw new Error(`installing failed\n${blender.output()}`)
  return { folder, run, remove: () => rm(folder, { recursive: true, force: true, maxRetries: 3 }) }
}

/** Without the settings of whoever runs the tests; an uncaught error is exit code 7. */
export const background = ['-b', '--factory-startup', '--python-exit-code', '7']

function start(
  [program = '', ...args]: readonly string[],
  env: NodeJS.ProcessEnv,
  timeout: number,
) {
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
  return {
    child,
    pid: child.pid ?? 0,
    /** Of both streams. */
    output: () => output,
    /** Rejects when Blender ends with an error; never resolves. */
    failed,
    exited,
  }
}

/** A Blender that crashes leaves its backtrace in the folder for temporary files. */
function crashReports({ TMPDIR: folder = '' }: NodeJS.ProcessEnv): string {
  const names = readdirSync(folder).filter(name => name.endsWith('.crash.txt'))
  return names.map(name => `\n${readFileSync(join(folder, name), 'utf8')}`).join('')
}

const size = { screen: '900x600x24', window: ['0', '0', '640', '400'] }

/** The two ways in which Blender runs. */
export const blenderModes = [
  { mode: 'background', needs: ['blender'], args: background, command: ['blender'] },
  {
    mode: 'gui',
    needs: ['blender', 'xvfb-run', 'openbox'],
    args: ['--factory-startup', '--window-geometry', ...size.window],
    command: [
      'xvfb-run',
      '-a',
      '-s',
      `-screen 0 ${size.screen}`,
      'sh',
      '-c',
      'openbox & exec blender "$@"',
      'sh',
    ],
  },
] as const

interface Said {
  ready?: true
  failed?: true
  did?: string
  at?: number
  found?: any
}

export type Remote = Awaited<ReturnType<typeof startRemote>>

/** A Blender with the add-on that does what it is told. */
export async function startRemote(
  addon: InstalledAddon,
  settings: {
    args: readonly string[]
    env: NodeJS.ProcessEnv
    command?: readonly string[]
    /** A Python file with more that it can be told. */
    words?: string
  },
) {
  const { args, env, command, words } = settings
  const script = join(insideBlender, 'remote.py')
  const files = words === undefined ? [] : [words]
  const run = addon.run([...args, '--python', script, '--', addon.folder, ...files], env, command)
  const waiting: ((said: Said) => void)[] = []
  const heard: Said[] = []
  if (run.child.stdout === null) throw new Error('Blender has no output')
  createInterface({ input: run.child.stdout }).on('line', line => {
    if (!line.startsWith('@')) return
    const said = JSON.parse(line.slice(1)) as Said
    const next = waiting.shift()
    if (next === undefined) heard.push(said)
    else next(said)
  })
  const next = (): Promise<Said> => {
    const said = heard.shift()
    const coming = said ?? new Promise<Said>(resolve => waiting.push(resolve))
    return Promise.race([coming, run.failed])
  }
  const ask = async (word: string): Promise<Said> => {
    run.child.stdin?.write(`${word}\n`)
    const said = await next()
    if (said.did !== word) throw new Error(`${word} failed in Blender\n${run.output()}`)
    return said
  }
  await next()
  return {
    run,
    /** Resolves with the wall-clock time, in ms, at which Blender began to do it. */
    tell: async (word: string) => (await ask(word)).at ?? 0,
    /** The same; resolves with what Blender found. */
    ask: async (word: string) => (await ask(word)).found,
    async quit() {
      run.child.stdin?.write('quit\n')
      return run.exited
    },
  }
}

export type LinkedBlender = Awaited<ReturnType<typeof startLinkedBlender>>

const linkMs = 30_000
const gui = blenderModes.find(({ mode }) => mode === 'gui')!

/** For a `before` hook. */
export function needWindowedBlender(context: Mocha.Context, ...tools: string[]): void {
  const needed = [...gui.needs, 'xdotool', 'import', ...tools]
  if (!hasPrograms(...needed)) {
    skipBecause(context, `one of ${needed.join(', ')} is not installed`)
  }
}

/**
 * A server, and a Blender with a window whose add-on is connected to it. A Blender that runs for
 * longer than `deadlineMs` is ended.
 */
export async function startLinkedBlender({ deadlineMs = 100_000 } = {}) {
  const addon = await installAddon(deadlineMs)
  const registryDir = join(addon.folder, 'registry')
  await mkdir(registryDir, { mode: 0o700 })
  const serve = () => startServe(registryDir, ['--dcc-type', 'blender', '--capture', 'host'])
  const first = await serve()
  let serving = first
  const env = { SERVICE_REGISTRY_DIR: registryDir, LIBGL_ALWAYS_SOFTWARE: '1' }
  const blender = await startRemote(addon, { args: gui.args, env, command: [...gui.command] })
  await blender.tell('connect')
  await until(() => blender.ask('is_connected'), 'the link', linkMs)
  return {
    addon,
    serving: first,
    blender,
    stopServing: () => serving.stop(),
    /** A server of the same state directory and data folder. */
    serveAgain: async () => (serving = await forFile(serve)),
    /** Ends all; throws when Blender failed. */
    async stop() {
      const left = await blender.quit()
      await serving.stop()
      await addon.remove()
      if (left !== 0) throw new Error(`Blender ended with ${left}\n${blender.run.output()}`)
    },
  }
}
