import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Timer } from '../../lib/util/time.ts'
import type { JobOutcome } from './serve-jobs.ts'

interface JobThreadOptions {
  readonly script: URL
  /** It ends after so long without work, and is started again when there is some. */
  readonly idleMs: number
  readonly timer: Timer
}

interface Entry<Job, Answer> {
  readonly job: Job
  readonly transfer: readonly ArrayBuffer[]
  resolve(answer: Answer): void
  reject(error: unknown): void
}

/**
 * A file beside the asking one that a thread starts with; sources and build differ in its ending.
 */
export function scriptBeside(moduleUrl: string, name: string): URL {
  return new URL(`./${name}${extname(new URL(moduleUrl).pathname)}`, moduleUrl)
}

/** A thread for work that takes too long for the main one; it does one job after the other. */
export class JobThread<Job, Answer> {
  readonly #options: JobThreadOptions
  readonly #queue: Entry<Job, Answer>[] = []
  #worker: Worker | null = null
  #running: { readonly entry: Entry<Job, Answer>; readonly worker: Worker } | null = null
  #cancelIdle: () => void = () => undefined

  constructor(options: JobThreadOptions) {
    this.#options = options
  }

  /**
   * What is in `transfer` is gone here once the job has begun. Rejects with the reason of
   * `signal`, and with what the job threw.
   */
  run(job: Job, transfer: ArrayBuffer[], signal: AbortSignal): Promise<Answer> {
    if (signal.aborted) return Promise.reject(signal.reason)
    return new Promise<Answer>((resolve, reject) => {
      const entry: Entry<Job, Answer> = { job, transfer, resolve, reject }
      const stop = (): void => this.#drop(entry, signal.reason)
      signal.addEventListener('abort', stop, { once: true })
      entry.resolve = answer => {
        signal.removeEventListener('abort', stop)
        resolve(answer)
      }
      entry.reject = error => {
        signal.removeEventListener('abort', stop)
        reject(error)
      }
      this.#queue.push(entry)
      this.#next()
    })
  }

  /** Ends the thread; what is under way is rejected. A later job starts another. */
  async close(): Promise<void> {
    const ended = new Error('the thread was ended')
    for (const entry of this.#queue.splice(0)) entry.reject(ended)
    this.#running?.entry.reject(ended)
    await this.#stop()
  }

  #next(): void {
    if (this.#running !== null) return
    this.#cancelIdle()
    const entry = this.#queue.shift()
    if (entry === undefined) {
      this.#worker?.unref()
      this.#cancelIdle = this.#options.timer.after(this.#options.idleMs, () => void this.#stop())
      return
    }
    const worker = (this.#worker ??= this.#start())
    this.#running = { entry, worker }
    worker.ref()
    try {
      worker.postMessage(entry.job, entry.transfer)
    } catch (error) {
      this.#end(worker, () => entry.reject(error))
    }
  }

  #start(): Worker {
    // Nothing of the environment is of use there, and some of it is secret.
    const worker = new Worker(this.#options.script, { env: {} })
    worker.on('message', (outcome: JobOutcome<Answer>) =>
      this.#end(worker, entry =>
        outcome.ok ? entry.resolve(outcome.answer) : entry.reject(new Error(outcome.message)),
      ),
    )
    const lost = (error: unknown): void => {
      if (this.#worker === worker) this.#worker = null
      this.#end(worker, entry => entry.reject(error))
    }
    worker.on('error', lost)
    worker.on('exit', code => lost(new Error(`the thread ended with code ${code}`)))
    return worker
  }

  /** Settles the job of the thread. Ignores a thread that was given up. */
  #end(worker: Worker, settle: (entry: Entry<Job, Answer>) => void): void {
    if (this.#running?.worker !== worker) return
    const { entry } = this.#running
    this.#running = null
    settle(entry)
    this.#next()
  }

  #drop(entry: Entry<Job, Answer>, reason: unknown): void {
    const place = this.#queue.indexOf(entry)
    if (place >= 0) this.#queue.splice(place, 1)
    entry.reject(reason)
    if (this.#running?.entry !== entry) return
    // A running job can be ended only with its thread.
    void this.#stop()
    this.#next()
  }

  async #stop(): Promise<void> {
    this.#cancelIdle()
    const worker = this.#worker
    this.#worker = null
    this.#running = null
    await worker?.terminate()
  }
}
