import { Config } from '@oclif/core'
import { expect } from 'chai'
import { settings } from '@oclif/core/settings'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough, Readable, Writable } from 'node:stream'
import { perform } from '../../src/main.ts'
import { type Ended, type Step, cleanEnv, root } from './program.ts'

let loaded: Promise<Config> | undefined

/** The commands of the sources, as oclif knows them. */
export async function commandConfig(): Promise<Config> {
  loaded ??= loadSources()
  const config = await loaded
  // The help of oclif changes the ids of the commands that it shows.
  for (const plugin of config.plugins.values()) {
    plugin.commands = plugin.commands.map(each => ({ ...each, id: each.id.replaceAll(' ', ':') }))
  }
  return config
}

function loadSources(): Promise<Config> {
  settings.enableAutoTranspile = false
  const file = readFileSync(join(root, 'package.json'), 'utf8')
  const pjson = JSON.parse(file.replaceAll('./dist/', './src/'))
  return Config.load({ root, pjson, ignoreManifest: true, userPlugins: false, devPlugins: false })
}

export interface CommandOptions {
  /** The whole environment of the command. Default: `cleanEnv()`. */
  readonly env?: NodeJS.ProcessEnv
  /** Piped into stdin, which is empty without it. */
  readonly input?: string
  /** Written to in place of the collected `stdout`, which stays empty. */
  readonly stdout?: Writable
  /** Makes stdin and stderr a terminal, on which this is typed. No key is echoed there. */
  readonly typed?: readonly Step[]
}

let previous: Promise<unknown> = Promise.resolve()

/**
 * Runs a command from the sources in this process, a tenth of the cost of a process of its own.
 * Commands share the streams and the environment of the process, so they run one after another.
 */
export function runCommand(argv: readonly string[], options: CommandOptions = {}): Promise<Ended> {
  return oneByOne(() => runAlone(argv, options))
}

/** Asserts how a command ended, and what it says on stderr. */
export function expectEnd({ code, stdout, stderr }: Ended, expected: number, ...texts: string[]) {
  expect(code, stdout + stderr).to.equal(expected)
  for (const text of texts) expect(stderr).to.contain(text)
}

/** Runs a step with this environment, between the commands of `runCommand`. */
export function withEnv<T>(env: NodeJS.ProcessEnv, step: () => Promise<T>): Promise<T> {
  return oneByOne(async () => {
    const restore = replaceEnv(env)
    try {
      return await step()
    } finally {
      restore()
    }
  })
}

function oneByOne<T>(step: () => Promise<T>): Promise<T> {
  const ended = previous.then(step)
  previous = ended.catch(() => {})
  return ended
}

async function runAlone(
  argv: readonly string[],
  { env = cleanEnv(), input, stdout: target, typed }: CommandOptions,
): Promise<Ended> {
  const stdout = new TextCollector()
  const stderr = typed === undefined ? new TextCollector() : new Terminal(typed)
  const piped = Readable.from(input === undefined ? [] : [Buffer.from(input)], {
    objectMode: false,
  })
  const stdin = stderr instanceof Terminal ? stderr.keyboard : piped
  const { exitCode } = process
  const commands = await commandConfig()
  const restoreEnv = replaceEnv(env)
  const restoreStreams = replaceStreams({ stdin, stdout: target ?? stdout, stderr })
  try {
    const code = await perform([...argv], commands)
    return { code, stdout: stdout.text(), stderr: stderr.text() }
  } finally {
    restoreStreams()
    restoreEnv()
    process.exitCode = exitCode
  }
}

class TextCollector extends Writable {
  readonly #chunks: Buffer[] = []

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.#chunks.push(chunk)
    done()
  }

  text(): string {
    return Buffer.concat(this.#chunks).toString()
  }
}

/** Types each step once its text has appeared after what was typed before. */
class Terminal extends TextCollector {
  readonly isTTY = true
  /** Node closes no such stream when what was piped into it ends. */
  readonly _isStdio = true
  readonly keyboard = Object.assign(new PassThrough(), { isTTY: true, setRawMode() {} })
  readonly #steps: Step[]
  #shown = 0

  constructor(steps: readonly Step[]) {
    super()
    this.#steps = [...steps]
  }

  override _write(chunk: Buffer, encoding: string, done: () => void): void {
    super._write(chunk, encoding, done)
    const [step] = this.#steps
    if (step === undefined || !this.text().includes(step.await, this.#shown)) return
    this.#steps.shift()
    this.#shown = this.text().length
    setImmediate(() => this.keyboard.write(step.send))
  }
}

/** Changes the real environment: `homedir()` does not see another `process.env` object. */
function replaceEnv(env: NodeJS.ProcessEnv): () => void {
  const before = { ...process.env }
  setEnv(env)
  return () => setEnv(before)
}

function setEnv(env: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(process.env)) delete process.env[name]
  for (const [name, value] of Object.entries(env)) {
    if (value !== undefined) process.env[name] = value
  }
}

function replaceStreams(streams: Record<'stdin' | 'stdout' | 'stderr', unknown>): () => void {
  const before = Object.keys(streams).map(
    name => [name, Object.getOwnPropertyDescriptor(process, name)] as const,
  )
  // The console, by which help is printed, keeps the stream that it has written to first.
  const shown = console as unknown as { _stdout: unknown }
  const { _stdout } = shown
  shown._stdout = streams.stdout
  for (const [name, value] of Object.entries(streams)) {
    Object.defineProperty(process, name, { value, configurable: true, enumerable: true })
  }
  return () => {
    shown._stdout = _stdout
    for (const [name, descriptor] of before) {
      if (descriptor !== undefined) Object.defineProperty(process, name, descriptor)
    }
  }
}
