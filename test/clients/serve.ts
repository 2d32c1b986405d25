import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { startServeProcess } from '../helpers/serve-process.ts'

const stopDeadlineMs = 10_000

/** The environment without the settings of whoever runs the tests. */
export function cleanEnvironment(home: string): NodeJS.ProcessEnv {
  const theirs = /^(SERVICE_|XDG_(CONFIG|DATA)_HOME$)/
  const own = Object.entries(process.env).filter(([name]) => !theirs.test(name))
  return { ...Object.fromEntries(own), HOME: home }
}

export type Serving = Awaited<ReturnType<typeof startServe>>

/** A `service-cli serve` of its own process, and the application's side of it. */
export async function startServe(registryDir: string, flags: readonly string[] = [], port = 0) {
  const all = ['--port', String(port), ...flags]
  const serve = await startServeProcess({ registryDir, flags: all })
  return {
    ...serve,
    /** Throws unless the answer is 2xx. */
    async post(path: string, body: unknown) {
      const answer = await serve.post(path, body)
      if (answer.status >= 300) throw new Error(`POST ${path}: ${answer.status} ${answer.text}`)
      return answer
    },
    /** SIGTERM; resolves with the exit code. */
    stop: async () => (await serve.stop()).code,
  }
}

/** SIGTERM and the exit code; SIGKILL when the process does not obey in time. */
export async function end(child: ChildProcess): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  const killer = setTimeout(() => child.kill('SIGKILL'), stopDeadlineMs)
  await exited
  clearTimeout(killer)
  return child.exitCode
}
