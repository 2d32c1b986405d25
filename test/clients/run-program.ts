import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cleanEnvironment } from './serve.ts'

export interface Outcome {
  code: number | string
  stdout: string
  stderr: string
}

export const programs = fileURLToPath(new URL('node_modules/.bin/', import.meta.url))
const ownProgram = fileURLToPath(new URL('../../bin/run.js', import.meta.url))

/** Runs a client that is installed here, at home in a folder of the test. */
export function runClient(
  program: string,
  args: readonly string[],
  place: { home: string; env?: Readonly<Record<string, string>> },
): Promise<Outcome> {
  return runNode([join(programs, program), ...args], place)
}

/** Runs `service-cli` in the same place. */
export function runOwn(
  args: readonly string[],
  place: { home: string; env?: Readonly<Record<string, string>> },
): Promise<Outcome> {
  return runNode([ownProgram, ...args], place)
}

function runNode(
  words: readonly string[],
  { home, env = {} }: { home: string; env?: Readonly<Record<string, string>> },
): Promise<Outcome> {
  const options = {
    cwd: home,
    env: { ...cleanEnvironment(home), NO_COLOR: '1', ...env },
    timeout: 60_000,
    maxBuffer: 16 * 1024 * 1024,
  }
  return new Promise(resolve => {
    const child = execFile(process.execPath, words, options, (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, stdout, stderr }),
    )
    child.stdin?.end()
  })
}
