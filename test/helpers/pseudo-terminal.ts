import { spawn, spawnSync } from 'node:child_process'
import { type Ended, exitOf, root, textOf } from './program.ts'

/** Typed once the text has appeared after what was typed before. */
export interface Step {
  readonly await: string
  readonly send: string
}

export const ctrlC = '\u0003'
export const ctrlT = '\u0014'
export const ctrlZ = '\u001a'

/** The interpreter itself, since the `python3` of a version manager starts dozens of shells first. */
const python = findPython()

function findPython(): string | null {
  const words = ['-c', 'import pty, select, sys; print(sys.executable)']
  const { status, stdout } = spawnSync('python3', words, { encoding: 'utf8' })
  return status === 0 ? stdout.trim() : null
}

/** Why no terminal can be had on this machine, or null. */
export function whyNoTerminal(): string | null {
  return python === null ? 'there is no python3 with pty on this machine' : null
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
  const child = spawn(python ?? 'python3', words, {
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
