import { type ChildProcess, spawn } from 'node:child_process'
import { exitOf } from '../helpers/program.ts'

/** Runs one of the scripts in `test/helpers/scripts/`. */
export function startScript(script: string, args: readonly string[]): ChildProcess {
  return spawn(process.execPath, [script, ...args], { stdio: ['pipe', 'pipe', 'inherit'] })
}

/** Kills the script when `now` says so after it wrote `count` lines; tells what it wrote. */
export async function killAfterLines(
  child: ChildProcess,
  count: number,
  now: () => boolean,
): Promise<string[]> {
  const { stdout } = child
  if (stdout === null) throw new Error('the script has no output')
  stdout.setEncoding('utf8')
  let text = ''
  for await (const chunk of stdout) {
    text += chunk
    if (text.split('\n').length <= count || child.killed) continue
    // Without a turn of the event loop: what is looked for lasts less than one.
    const deadline = performance.now() + 5000
    while (!now() && performance.now() < deadline) continue
    child.kill('SIGKILL')
  }
  await exitOf(child)
  return text.split('\n').slice(0, -1)
}
