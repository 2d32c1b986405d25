import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../../', import.meta.url))

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Compiled code is shared by the tests, whatever their home: each start is several times as fast. */
const cacheHome = join(homedir(), '.cache')

// Read once: a command that runs in this process has an environment of its own for that time.
const { PATH, HOME, TMPDIR } = process.env

/** An environment without what the developer happens to have set. */
export function cleanEnv(extra: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  return { PATH, HOME, TMPDIR, XDG_CACHE_HOME: cacheHome, ...extra }
}

const preload = fileURLToPath(new URL('./bounds-preload.js', import.meta.url))

/**
 * What starts the program: `--bound=NAME=NUMBER`, which is for tests alone, replaces a bound that
 * no flag moves.
 */
export function programStart(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): { args: string[]; env: NodeJS.ProcessEnv } {
  const isBound = (arg: string) => arg.startsWith('--bound=')
  const bounds = args.filter(isBound).map(arg => arg.slice('--bound='.length))
  const start = [join(root, 'bin', 'run.js'), ...args.filter(arg => !isBound(arg))]
  if (bounds.length === 0) return { args: start, env }
  return { args: ['--import', preload, ...start], env: { ...env, TEST_BOUNDS: bounds.join(' ') } }
}

export function startProgram(
  args: readonly string[],
  options: { env?: NodeJS.ProcessEnv; stdio?: StdioOptions; node?: string } = {},
): ChildProcess {
  const { env = cleanEnv(), stdio = ['ignore', 'pipe', 'pipe'], node = process.execPath } = options
  const start = programStart(args, env)
  return spawn(node, start.args, { cwd: root, env: start.env, stdio })
}

export async function runProgram(
  args: readonly string[],
  options: { env?: NodeJS.ProcessEnv; node?: string } = {},
): Promise<Ended> {
  const child = startProgram(args, options)
  const [stdout, stderr, code] = await Promise.all([
    textOf(child.stdout),
    textOf(child.stderr),
    exitOf(child),
  ])
  return { code, stdout, stderr }
}

export async function textOf(stream: NodeJS.ReadableStream | null): Promise<string> {
  let text = ''
  if (stream !== null) for await (const chunk of stream) text += String(chunk)
  return text
}

/** The exit code; null when a signal ended the process. */
export function exitOf(child: ChildProcess): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve(child.exitCode)
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', code => resolve(code))
  })
}

/** The first line of a stream; empty when it ended without one. The stream stays open. */
export function firstLine(stream: NodeJS.ReadableStream | null): Promise<string> {
  return new Promise(resolve => {
    let text = ''
    stream?.on('data', chunk => {
      text += String(chunk)
      const end = text.indexOf('\n')
      if (end !== -1) resolve(text.slice(0, end))
    })
    stream?.once('end', () => resolve(''))
  })
}

/** Typed once the text has appeared after what was typed before. */
export interface Step {
  readonly await: string
  readonly send: string
}
