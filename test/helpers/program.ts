import { type ChildProcess, type StdioOptions, spawn, spawnSync } from 'node:child_process'
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

export const ctrlC = '\u0003'
export const ctrlT = '\u0014'
export const ctrlZ = '\u001a'

/** The interpreter itself, since the `python3` of a version manager starts dozens of shells first. */
function findPython(): string | null {
  const words = ['-c', 'import pty, select, sys; print(sys.executable)']
  const { status, stdout } = spawnSync('python3', words, { encoding: 'utf8' })
  return status === 0 ? stdout.trim() : null
}

/** Why no terminal can be had on this machine, or null. */
export function whyNoTerminal(): string | null {
  return findPython() === null ? 'there is no python3 with pty on this machine' : null
}

/** Runs the program on a pseudo-terminal; `stdout` is all that appeared there, echo included. */
export function runOnTerminal(
  args: readonly string[],
  options: { env: NodeJS.ProcessEnv; steps: readonly Step[] },
): Promise<Ended> {
  return runAnyOnTerminal([process.execPath, 'bin/run.js', ...args], options)
}

/** Runs any program, a shell for one, on a pseudo-terminal. */
export async function runAnyOnTerminal(
  command: readonly string[],
  { env, steps }: { env: NodeJS.ProcessEnv; steps: readonly Step[] },
): Promise<Ended> {
  const words = ['-IS', '-c', driver, JSON.stringify(steps), ...command]
  const child = spawn(findPython() ?? 'python3', words, {
    cwd: root,
    env: { ...env, TERM: 'xterm' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [stdout, stderr, code] = await Promise.all([
    textOf(child.stdout),
    textOf(child.stderr),
    exitOf(child),
  ])
  return { code, stdout, stderr }
}

const driver = `
import json, os, pty, select, sys, time
steps, argv = json.loads(sys.argv[1]), sys.argv[2:]
pid, fd = pty.fork()
if pid == 0:
    os.execv(argv[0], argv)
seen, at, deadline = b'', 0, time.time() + 60
while time.time() < deadline:
    if not select.select([fd], [], [], 0.1)[0]:
        continue
    try:
        chunk = os.read(fd, 65536)
    except OSError:
        break
    if not chunk:
        break
    seen += chunk
    if steps and seen.find(steps[0]['await'].encode(), at) >= 0:
        at = len(seen)
        os.write(fd, steps.pop(0)['send'].encode())
else:
    os.kill(pid, 9)
sys.stdout.buffer.write(seen)
sys.stdout.flush()
status = os.waitpid(pid, 0)[1]
sys.exit(os.WEXITSTATUS(status) if os.WIFEXITED(status) else 99)
`
