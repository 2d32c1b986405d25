import { spawn, type ChildProcess } from 'node:child_process'
import { openSync, closeSync } from 'node:fs'
import { createInterface } from 'node:readline'
import type { Question, Reply } from './child-messages.ts'

export interface ChildOptions {
  /** Arguments of node: the file to run, before it options of node. */
  readonly argv: readonly string[]
  readonly env?: NodeJS.ProcessEnv
  /** Where its stderr goes. */
  readonly logFile: string
}

interface Waiting {
  readonly resolve: (value: unknown) => void
  readonly reject: (error: Error) => void
  readonly timer: NodeJS.Timeout
}

const stopMs = 4000

/** A node process of the benchmark's own, with a channel for questions; ended by its pid. */
export class Child {
  readonly pid: number
  readonly #process: ChildProcess
  readonly #waiting = new Map<number, Waiting>()
  readonly #exited: Promise<void>
  #nextId = 1
  #gone: string | undefined

  constructor(options: ChildOptions) {
    const log = openSync(options.logFile, 'a')
    this.#process = spawn(process.execPath, options.argv, {
      stdio: ['ignore', 'pipe', log, 'ipc'],
      ...(options.env ? { env: options.env } : {}),
    })
    closeSync(log)
    this.pid = this.#process.pid ?? 0
    this.#exited = new Promise(resolve => {
      this.#process.once('exit', (code, signal) => {
        this.#fail(`the process ended with ${signal ?? code} (its log: ${options.logFile})`)
        resolve()
      })
      this.#process.once('error', error => {
        this.#fail(`the process did not start: ${error.message}`)
        resolve()
      })
    })
    this.#process.on('message', (reply: Reply) => this.#settle(reply))
  }

  /** The first line on stdout. */
  async firstLine(timeoutMs: number): Promise<string> {
    const lines = createInterface({ input: this.#process.stdout ?? process.stdin })
    const first = new Promise<string>(resolve => lines.once('line', resolve))
    const ended = this.#exited.then(() => Promise.reject(new Error(this.#gone)))
    const late = Promise.withResolvers<never>()
    const timer = setTimeout(
      () => late.reject(new Error(`no line on stdout after ${timeoutMs} ms`)),
      timeoutMs,
    )
    ended.catch(() => {})
    try {
      return await Promise.race([first, ended, late.promise])
    } finally {
      clearTimeout(timer)
      lines.on('line', () => {})
    }
  }

  ask(question: string, argument: unknown, timeoutMs: number): Promise<unknown> {
    if (this.#gone !== undefined) return Promise.reject(new Error(this.#gone))
    const id = this.#nextId++
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(id)
        reject(new Error(`"${question}" was not answered within ${timeoutMs} ms`))
      }, timeoutMs)
      this.#waiting.set(id, { resolve, reject, timer })
      this.#process.send({ id, ask: question, with: argument } satisfies Question)
    })
  }

  async stop(): Promise<void> {
    if (this.#gone === undefined) {
      this.#process.kill('SIGTERM')
      const timer = setTimeout(() => this.#process.kill('SIGKILL'), stopMs)
      await this.#exited
      clearTimeout(timer)
    }
  }

  /** For the way out of the whole program, where nothing can be waited for. */
  killNow(): void {
    if (this.#gone === undefined) this.#process.kill('SIGKILL')
  }

  #settle(reply: Reply): void {
    const waiting = this.#waiting.get(reply.id)
    if (waiting === undefined) return
    this.#waiting.delete(reply.id)
    clearTimeout(waiting.timer)
    if ('error' in reply) waiting.reject(new Error(reply.error))
    else waiting.resolve(reply.value)
  }

  #fail(reason: string): void {
    this.#gone = reason
    for (const { reject, timer } of this.#waiting.values()) {
      clearTimeout(timer)
      reject(new Error(reason))
    }
    this.#waiting.clear()
  }
}
