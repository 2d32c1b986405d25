import type { ChildProcess } from 'node:child_process'
import { startProgram } from '../helpers/program.ts'

interface Followed {
  readonly child: ChildProcess
  /** Of its stdout. */
  lines(): string[]
  json(): any[]
  stderr(): string
}

/** The program at work. */
export function follow(args: string[]): Followed {
  const child = startProgram(args)
  let text = ''
  let stderr = ''
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk))
  const lines = () => text.split('\n').slice(0, -1)
  return { child, lines, json: () => lines().map(line => JSON.parse(line)), stderr: () => stderr }
}
