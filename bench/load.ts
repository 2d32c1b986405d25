/** The process that makes the load: told what to do by the benchmark, it measures what it sees. */
import { randomFillSync } from 'node:crypto'
import http from 'node:http'
import https from 'node:https'
import { performance } from 'node:perf_hooks'
import { Client } from 'undici'
import { answerQuestions } from './child.ts'
import { quantile } from './measure.ts'
import type { Sent } from './server.ts'

export interface ClosedLoop {
  /** For each connection what it asks for, in turn. */
  readonly requests: readonly (readonly Sent[])[]
  readonly milliseconds: number
}

export interface ClosedLoopResult {
  readonly completed: number
  readonly elapsedMs: number
  readonly bytes: number
  readonly p50Ms: number
  readonly p99Ms: number
}

export interface Uploads {
  readonly sent: Sent
  readonly bytes: number
  readonly count: number
}

export interface FanOut {
  /** The streams that were opened under this name. */
  readonly name: string
  /** Each changes the scene. */
  readonly updates: readonly Sent[]
}

export interface FanOutResult {
  readonly elapsedMs: number
  readonly notifications: number
  /** Of the notifications that there would be if every update reached every stream. */
  readonly delivered: number
  /** Until all streams had heard an update. */
  readonly p50Ms: number
}

const needle = 'notifications/resources/updated'
const updateTimeoutMs = 5000

const open = new Map<string, Streams>()

// Questions keep this process alive, unlike a server.
process.channel?.ref()

answerQuestions({
  closedLoop: (load: ClosedLoop) => withOwnShare(() => closedLoop(load)),
  uploads: (load: Uploads) => withOwnShare(() => upload(load)),
  openStreams: async ({ name, streams }: { name: string; streams: readonly Sent[] }) => {
    open.set(name, await Streams.open(streams))
  },
  fanOut: ({ name, updates }: FanOut) => withOwnShare(() => fanOut(find(name), updates)),
  closeStreams: (name: string) => {
    find(name).close()
    open.delete(name)
  },
})

function find(name: string): Streams {
  const streams = open.get(name)
  if (streams === undefined) throw new Error(`no streams are open for ${name}`)
  if (streams.closed > 0) throw new Error(`${name} closed ${streams.closed} event streams`)
  return streams
}

/** How much of one core this process took: near 1 it would be what is measured. */
async function withOwnShare<T>(run: () => Promise<T>): Promise<T & { loadCpu: number }> {
  const started = performance.now()
  const before = process.cpuUsage()
  const result = await run()
  const { user, system } = process.cpuUsage(before)
  return { ...result, loadCpu: (user + system) / 1000 / (performance.now() - started) }
}

/** One keep-alive connection with one request under way at a time. */
class Connection {
  readonly #client: Client

  constructor(url: string) {
    // The certificate is one made for the run.
    const connect = { rejectUnauthorized: false }
    this.#client = new Client(new URL(url).origin, { connect, bodyTimeout: 20_000 })
  }

  /** Resolves with the length of the body. */
  send({
    method,
    url,
    headers,
    body,
  }: Sent | (Omit<Sent, 'body'> & { body: Buffer })): Promise<number> {
    const { pathname, search } = new URL(url)
    const { promise, resolve, reject } = Promise.withResolvers<number>()
    let bytes = 0
    this.#client.dispatch(
      { method: method as 'GET', path: pathname + search, headers, body },
      {
        onRequestStart: () => {},
        onResponseStart: (_, status) => {
          if (status >= 300) reject(new Error(`${method} ${url} was answered ${status}`))
        },
        onResponseData: (_, chunk) => void (bytes += chunk.length),
        onResponseEnd: () => resolve(bytes),
        onResponseError: (_, error) => reject(error),
      },
    )
    return promise
  }

  close(): void {
    void this.#client.destroy()
  }
}

/** Each connection sends its next request when it has the answer to the one before. */
async function closedLoop({ requests, milliseconds }: ClosedLoop): Promise<ClosedLoopResult> {
  const latencies: number[] = []
  let bytes = 0
  const started = performance.now()
  const deadline = started + milliseconds
  const loop = async (own: readonly Sent[], index: number) => {
    const connection = new Connection(own[0]?.url ?? '')
    try {
      // Evenly apart, so that no connection asks for what another has just had.
      const start = Math.floor((index * own.length) / requests.length)
      for (let turn = start; performance.now() < deadline; turn++) {
        const sentAt = performance.now()
        const length = await connection.send(own[turn % own.length] as Sent)
        bytes += length
        latencies.push(performance.now() - sentAt)
      }
    } finally {
      connection.close()
    }
  }
  await Promise.all(requests.map(loop))
  const [p50Ms, p99Ms] = [quantile(latencies, 0.5), quantile(latencies, 0.99)]
  return {
    completed: latencies.length,
    elapsedMs: performance.now() - started,
    bytes,
    p50Ms,
    p99Ms,
  }
}

/** One after the other on one connection, each body different from all before. */
async function upload({
  sent,
  bytes,
  count,
}: Uploads): Promise<{ elapsedMs: number; p50Ms: number }> {
  const body = randomFillSync(Buffer.alloc(bytes))
  const connection = new Connection(sent.url)
  const latencies: number[] = []
  try {
    const started = performance.now()
    for (let i = 0; i < count; i++) {
      body.writeUInt32LE(i, 0)
      const sentAt = performance.now()
      await connection.send({ ...sent, body })
      latencies.push(performance.now() - sentAt)
    }
    return { elapsedMs: performance.now() - started, p50Ms: quantile(latencies, 0.5) }
  } finally {
    connection.close()
  }
}

/** Event streams that are open, and what they have heard. */
class Streams {
  readonly size: number
  /** How many the server has ended by itself. */
  closed = 0
  total = 0
  lastArrivalMs = 0
  readonly #requests: http.ClientRequest[] = []
  #waiter: { total: number; done: () => void } | undefined

  static async open(all: readonly Sent[]): Promise<Streams> {
    const streams = new Streams(all.length)
    for (const sent of all) await streams.#attach(sent)
    return streams
  }

  private constructor(size: number) {
    this.size = size
  }

  /** True when all streams together have heard `total` notifications, false after the timeout. */
  waitFor(total: number, timeoutMs: number): Promise<boolean> {
    if (this.total >= total) return Promise.resolve(true)
    return new Promise(resolve => {
      const timer = setTimeout(() => {
        this.#waiter = undefined
        resolve(false)
      }, timeoutMs)
      const done = () => {
        clearTimeout(timer)
        resolve(true)
      }
      this.#waiter = { total, done }
    })
  }

  close(): void {
    for (const request of this.#requests) request.destroy()
  }

  #attach({ method, url, headers }: Sent): Promise<void> {
    const { request } = url.startsWith('https:') ? https : http
    return new Promise((resolve, reject) => {
      const options = { method, headers, agent: false, rejectUnauthorized: false }
      const sent = request(url, options, answer => {
        if (answer.statusCode === 200) resolve()
        else reject(new Error(`a stream was answered ${answer.statusCode}`))
        let tail = ''
        answer.setEncoding('latin1').on('data', (chunk: string) => {
          const lines = (tail + chunk).split('\n')
          tail = lines.pop() ?? ''
          this.#heard(lines.filter(line => line.includes(needle)).length)
        })
        answer.on('close', () => this.closed++).on('error', () => {})
      })
      this.#requests.push(sent.on('error', reject))
      sent.end()
    })
  }

  #heard(count: number): void {
    if (count === 0) return
    this.lastArrivalMs = performance.now()
    this.total += count
    if (this.#waiter === undefined || this.total < this.#waiter.total) return
    const { done } = this.#waiter
    this.#waiter = undefined
    done()
  }
}

/** The next update is sent when every stream has heard the one before. */
async function fanOut(streams: Streams, updates: readonly Sent[]): Promise<FanOutResult> {
  streams.total = 0
  const connection = new Connection(updates[0]?.url ?? '')
  const times: number[] = []
  const started = performance.now()
  try {
    for (const [index, update] of updates.entries()) {
      const sentAt = performance.now()
      const heard = streams.waitFor((index + 1) * streams.size, updateTimeoutMs)
      await connection.send(update)
      if (!(await heard)) break
      times.push(streams.lastArrivalMs - sentAt)
    }
    const elapsedMs = performance.now() - started
    const notifications = streams.total
    const delivered = notifications / (updates.length * streams.size)
    return { elapsedMs, notifications, delivered, p50Ms: quantile(times, 0.5) }
  } finally {
    connection.close()
  }
}
