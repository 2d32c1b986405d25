import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

/** A question over the channel between the benchmark and a child process. */
interface Question {
  readonly id: number
  readonly ask: string
  readonly argument: unknown
}

const probe = new URL('servers/probe.ts', import.meta.url).href

/** A node process of the benchmark's own, with a channel for questions. */
export class Child {
  readonly #process: ChildProcess
  readonly #logFile: string
  readonly #waiting = new Map<number, PromiseWithResolvers<any>>()
  readonly #gone: Promise<unknown>
  #nextId = 1

  /** `logFile`: where its stderr goes. */
  constructor(
    file: string,
    args: readonly string[],
    { env, logFile }: { env: NodeJS.ProcessEnv; logFile: string },
  ) {
    const log = openSync(logFile, 'a')
    const stdio = ['ignore', 'pipe', log, 'ipc'] as const
    this.#process = fork(file, args, { env, stdio: [...stdio], execArgv: ['--import', probe] })
    closeSync(log)
    this.#logFile = logFile
    this.#gone = once(this.#process, 'exit').then(() => {
      for (const { reject } of this.#waiting.values()) reject(this.#ended())
    })
    this.#process.on('message', (reply: { id: number; value?: unknown; error?: string }) => {
      const { resolve, reject } = this.#waiting.get(reply.id) ?? {}
      this.#waiting.delete(reply.id)
      if (reply.error === undefined) resolve?.(reply.value)
      else reject?.(new Error(reply.error))
    })
  }

  /** The first line on stdout, parsed. */
  async firstLine(): Promise<any> {
    const lines = createInterface({ input: this.#process.stdout as NodeJS.ReadableStream })
    const [line] = await Promise.race([once(lines, 'line'), this.#gone.then(() => [])])
    if (line === undefined) throw this.#ended()
    lines.on('line', () => {})
    return JSON.parse(line)
  }

  async ask<Answer>(ask: string, argument?: unknown): Promise<Answer> {
    if (!this.#process.connected) throw this.#ended()
    const id = this.#nextId++
    const answer = Promise.withResolvers<Answer>()
    this.#waiting.set(id, answer)
    this.#process.send({ id, ask, argument } satisfies Question)
    return answer.promise
  }

  async stop(): Promise<void> {
    if (this.#process.exitCode === null) this.#process.kill('SIGTERM')
    const timer = setTimeout(() => this.kill(), 4000)
    await this.#gone
    clearTimeout(timer)
  }

  kill(): void {
    this.#process.kill('SIGKILL')
  }

  #ended(): Error {
    const log = readFileSync(this.#logFile, 'utf8').trim().split('\n').slice(-3).join(' | ')
    return new Error(`a process ended: ${log}`)
  }
}

/** Answers the questions of the parent process; ends this process when the parent is gone. */
export function answerQuestions(
  answers: Readonly<Record<string, (argument: any) => unknown>>,
): void {
  process.on('message', async ({ id, ask, argument }: Question) => {
    const answer = answers[ask]
    if (answer === undefined) return
    try {
      process.send?.({ id, value: await answer(argument) })
    } catch (error) {
      process.send?.({ id, error: String(error) })
    }
  })
  process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'))
}
