import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cleanEnv, exitOf, startProgram } from '../helpers/program.ts'
import { until } from '../helpers/until.ts'
import { serveInProcess } from '../helpers/in-process-servers.ts'
import type { RunningServe } from '../helpers/serve-process.ts'

/** The `initialize` that a client sends first. */
export const hello = {
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'x', version: '1' },
  },
}

/**
 * Servers on one state directory; after each test they end in reverse order and it is removed.
 * With `before` and `after` instead, the tests of a suite share them.
 */
export function useServers(begin = beforeEach, end = afterEach) {
  let folder = ''
  const ends: (() => Promise<unknown>)[] = []

  begin(async () => {
    folder = await mkdtemp(join(tmpdir(), 'stdio-test-'))
  })
  end(async () => {
    for (const stop of ends.splice(0).toReversed()) await stop()
    await rm(folder, { recursive: true, force: true })
  })

  async function serve(...flags: string[]): Promise<RunningServe> {
    const server = await serveInProcess({ registryDir: folder, flags })
    ends.push(() => server.stop())
    return server
  }

  /** Starts the program with its stdio at hand. */
  function start(...words: string[]) {
    const program = startStdio(folder, words)
    ends.push(program.end)
    return program
  }

  return { stateDir: () => folder, ends, serve, start }
}

/** A program that speaks MCP over stdio, with this state directory. */
export function startStdio(stateDir: string, words: readonly string[]) {
  const env = cleanEnv({ SERVICE_REGISTRY_DIR: stateDir, XDG_DATA_HOME: stateDir })
  const child = startProgram(words, { env, stdio: ['pipe', 'pipe', 'pipe'] })
  const end = async () => {
    child.kill('SIGKILL')
    await exitOf(child)
  }
  const out = { stdout: '', stderr: '' }
  child.stdout?.on('data', chunk => (out.stdout += String(chunk)))
  child.stderr?.on('data', chunk => (out.stderr += String(chunk)))
  const send = (message: object) =>
    void child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  const lines = (): any[] =>
    out.stdout
      .split('\n')
      .slice(0, -1)
      .map(line => JSON.parse(line))
  const answer = async (id: number): Promise<any> => {
    const found = () => lines().find(message => message.id === id)
    await until(() => found() !== undefined, `an answer to ${id}`)
    return found()
  }
  return { child, out, send, lines, answer, end }
}
