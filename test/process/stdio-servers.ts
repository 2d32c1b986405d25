import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, type Readable, type Writable } from 'node:stream'
import { readConnectSettings } from '../../src/commands/stdio/connect.ts'
import { runBridge } from '../../src/lib/mcp/bridge/bridge.ts'
import { type BridgeLimits, defaultBridgeLimits } from '../../src/lib/mcp/bridge/limits.ts'
import { systemTimer } from '../../src/lib/util/time.ts'
import { cleanEnv, exitOf, startProgram } from '../helpers/program.ts'
import { recordingLog } from '../helpers/recording-log.ts'
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

  /** Starts `connect` in this process. */
  function connect(word?: string, options: ConnectOptions = {}) {
    const program = startConnect(folder, word, options)
    ends.push(program.end)
    return program
  }

  return { stateDir: () => folder, ends, serve, start, connect }
}

/** A program that speaks MCP over stdio, with this state directory. */
function startStdio(stateDir: string, words: readonly string[]) {
  const env = cleanEnv({ SERVICE_REGISTRY_DIR: stateDir, XDG_DATA_HOME: stateDir })
  const child = startProgram(words, { env, stdio: ['pipe', 'pipe', 'pipe'] })
  const end = async () => {
    child.kill('SIGKILL')
    await exitOf(child)
  }
  const out = { stderr: '' }
  child.stderr?.on('data', chunk => (out.stderr += String(chunk)))
  return { child, out, end, ...conversation(child.stdin, child.stdout) }
}

interface ConnectOptions {
  limits?: Partial<BridgeLimits>
  keyFile?: string
}

/** `connect` in this process, between two streams in place of stdio. */
function startConnect(
  stateDir: string,
  word: string | undefined,
  { limits = {}, keyFile }: ConnectOptions,
) {
  const [input, output] = [new PassThrough(), new PassThrough()]
  const log = recordingLog()
  const env = { SERVICE_REGISTRY_DIR: stateDir }
  const parts = {
    input,
    output,
    env,
    log,
    timer: systemTimer,
    random: Math.random,
    limits: { ...defaultBridgeLimits, ...limits },
  }
  const stop = new AbortController()
  const flags = { 'allow-http': false, 'api-key-file': keyFile }
  const ended = readConnectSettings(word, flags, env, log).then(({ locate, key }) =>
    runBridge({ ...parts, locate, key }, stop.signal),
  )
  const end = async () => {
    stop.abort()
    await ended
  }
  const logged = (message: string) => log.lines.filter(({ text }) => text.includes(message)).length
  return { ...conversation(input, output), input, output, ended, end, logged }
}

/** JSON-RPC messages to a program and from it. */
function conversation(input: Writable | null, output: Readable | null) {
  let stdout = ''
  output?.on('data', chunk => (stdout += String(chunk)))
  const send = (message: object) =>
    void input?.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  const lines = (): any[] =>
    stdout
      .split('\n')
      .slice(0, -1)
      .map(line => JSON.parse(line))
  const answer = async (id: number): Promise<any> => {
    const found = () => lines().find(message => message.id === id)
    await until(() => found() !== undefined, `an answer to ${id}`)
    return found()
  }
  return { send, lines, answer }
}
