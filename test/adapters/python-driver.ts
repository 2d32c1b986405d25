import { expect } from 'chai'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createInterface } from 'node:readline'
import { atEnd } from '../helpers/cleanup.ts'
import { until } from '../helpers/until.ts'
import { skipBecause } from '../helpers/skip.ts'
import { type Script, ScriptedServer, token } from './scripted-server.ts'

const program = fileURLToPath(new URL('python/driver.py', import.meta.url))

/** What Python needs to import the client: the folder that users take. */
export const pythonEnv: Readonly<Record<string, string>> = {
  PATH: process.env.PATH ?? '',
  PYTHONDONTWRITEBYTECODE: '1',
  PYTHONPATH: fileURLToPath(new URL('../../adapters/python', import.meta.url)),
}

const oldest = join(homedir(), '.pyenv', 'versions', '3.7.16', 'bin', 'python3.7')
const hasOldest = existsSync(oldest)
/** Python 3.7, the oldest that the client supports, where it is installed. */
export const python = hasOldest ? oldest : 'python3'

/** For a `before` hook. */
export function needPython(this: Mocha.Context): void {
  if (spawnSync(python, ['--version']).error !== undefined) {
    skipBecause(this, 'python3 is not installed (Debian: apt-get install python3)')
  }
  if (!hasOldest && !isToldOfPython) console.log('      with python3: there is no Python 3.7 here')
  isToldOfPython = true
}
let isToldOfPython = false

interface Reply {
  id: number
  result?: any
  error?: string
}

export interface LinkOptions {
  /** Of the module, by name: shorter times. */
  constants?: Record<string, number>
  /** Whether each refresh is done at once; or the scene that it hands over. */
  refreshes?: (boolean | object)[]
  start?: boolean
}

export interface LinkStatus {
  state: string
  text: string
  url: string | null
  lastError: string | null
}

/** A Python application with a link, told what to do. */
export class PythonApp {
  readonly child: ChildProcess
  readonly exited: Promise<number | null>
  readonly #waiting = new Map<number, (reply: Reply) => void>()
  #lastId = 0
  /** All it has written, for what must never be in it. */
  output = ''

  constructor(env: Record<string, string> = {}) {
    this.child = spawn(python, ['-B', program], {
      env: { ...pythonEnv, ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    this.exited = once(this.child, 'close').then(([code]) => code)
    this.child.stdin?.on('error', () => {})
    this.child.stderr?.setEncoding('utf8').on('data', text => (this.output += text))
    createInterface({ input: this.child.stdout! }).on('line', line => {
      this.output += line
      const reply: Reply = JSON.parse(line)
      this.#waiting.get(reply.id)?.(reply)
      this.#waiting.delete(reply.id)
    })
  }

  async tell(command: object): Promise<Reply> {
    const id = ++this.#lastId
    const reply = new Promise<Reply>(resolve => this.#waiting.set(id, resolve))
    this.child.stdin?.write(`${JSON.stringify({ id, ...command })}\n`)
    const ended = this.exited.then(code => {
      throw new Error(`python ended with ${code}: ${this.output}`)
    })
    const answer = await Promise.race([reply, ended])
    if (answer.error !== undefined) throw new Error(answer.error)
    return answer
  }

  /** A new link, started unless told otherwise. */
  async link(
    args: object,
    { constants = {}, refreshes = [], start = true }: LinkOptions = {},
  ): Promise<void> {
    await this.tell({ new: { dcc_type: 'workshop', ...args }, constants, refreshes })
    if (start) await this.call('start')
  }

  async call(method: string, ...args: unknown[]): Promise<Reply> {
    return this.tell({ call: method, args })
  }

  /** Ends `block`. */
  release(): void {
    this.child.stdin?.write('{"release":true}\n')
  }

  async named(method: string, kwargs: object): Promise<Reply> {
    return this.tell({ call: method, kwargs })
  }

  async get(name: string): Promise<any> {
    return (await this.tell({ get: name })).result
  }

  async status(): Promise<LinkStatus> {
    const [state, text, url, lastError] = (await this.call('status')).result
    return { state, text, url, lastError }
  }

  async untilState(state: string, deadlineMs?: number): Promise<LinkStatus> {
    let now = await this.status()
    await until(async () => (now = await this.status()).state === state, state, deadlineMs)
    return now
  }

  async untilError(words: string): Promise<void> {
    const says = async () => (await this.status()).lastError?.includes(words) === true
    await until(says, `last_error with "${words}"`)
  }

  /** Its input ends, and with it the program. */
  async end(): Promise<number | null> {
    this.child.stdin?.end()
    return this.exited
  }

  async kill(): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) this.child.kill('SIGKILL')
    await this.exited
  }
}

/** A server that behaves by the script. */
export async function serve(script?: Script): Promise<ScriptedServer> {
  const server = await ScriptedServer.start(script)
  atEnd(() => server.stop())
  return server
}

/** An application without a link. */
export function launch(env?: Record<string, string>): PythonApp {
  const app = new PythonApp(env)
  atEnd(async () => {
    await app.kill()
    expect(app.output).not.to.contain(token)
    expect(app.output).not.to.contain('Traceback')
  })
  return app
}

/** A server that behaves by the script, and an application that is linked to it. */
export async function link(script?: Script, args: object = {}, options: LinkOptions = {}) {
  const server = await serve(script)
  const app = launch()
  await app.link({ url: server.url, token, ...args }, options)
  return { server, app }
}
