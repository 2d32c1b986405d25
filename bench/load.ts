/** Makes the load, in this process. */
import { Client } from 'undici'
import { makeBlob, makeSceneText, sceneUri } from './fixture.ts'
import type { Figures } from './measure.ts'
import type { Sent, Server } from './server.ts'

const needle = 'notifications/resources/updated'
const updateTimeoutMs = 20_000

/**
 * What the servers together needed for each of the things that `work` says it did. `loadCpu`: how
 * much of a core this process took; near 1 it would be what is measured.
 */
export async function measureWork(
  servers: readonly Server[],
  work: () => Promise<number>,
): Promise<Figures> {
  const before = await cpuOf(servers)
  const [ownBefore, started] = [process.cpuUsage(), performance.now()]
  const count = await work()
  const elapsedMs = performance.now() - started
  const { user, system } = process.cpuUsage(ownBefore)
  const cpuMs = (await cpuOf(servers)) - before
  return {
    perSecond: (count / elapsedMs) * 1000,
    cpuUs: (cpuMs / count) * 1000,
    loadCpu: (user + system) / 1000 / elapsedMs,
  }
}

async function cpuOf(servers: readonly Server[]): Promise<number> {
  const each = await Promise.all(servers.map(server => server.cpuMs()))
  return each.reduce((sum, ms) => sum + ms, 0)
}

/** One keep-alive connection with one request under way at a time. */
class Connection {
  readonly #client: Client

  constructor({ origin }: Server) {
    this.#client = new Client(origin, { bodyTimeout: 20_000 })
  }

  send(sent: Sent): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#client.dispatch(sent, {
      onRequestStart: () => {},
      onResponseStart: (_, status) => {
        if (status >= 300) reject(new Error(`${sent.method} ${sent.path} was answered ${status}`))
      },
      onResponseData: () => {},
      onResponseEnd: () => resolve(),
      onResponseError: (_, error) => reject(error),
    })
    return promise
  }

  close(): void {
    void this.#client.destroy()
  }
}

/**
 * For each connection what it asks for, in turn: it sends the next request when it has the answer
 * to the one before. Resolves with the number of answers.
 */
export async function closedLoop(
  server: Server,
  requests: readonly (readonly Sent[])[],
  milliseconds: number,
): Promise<number> {
  let completed = 0
  const deadline = performance.now() + milliseconds
  const loop = async (own: readonly Sent[], index: number) => {
    const connection = new Connection(server)
    // Evenly apart, so that no connection asks for what another has just had.
    const start = Math.floor((index * own.length) / requests.length)
    for (let turn = start; performance.now() < deadline; turn++) {
      await connection.send(own[turn % own.length] as Sent)
      completed++
    }
    connection.close()
  }
  await Promise.all(requests.map(loop))
  return completed
}

/** One after the other, each different from all before. */
export async function upload(server: Server, count: number): Promise<number> {
  const body = makeBlob(performance.now())
  const connection = new Connection(server)
  for (let i = 0; i < count; i++) {
    body.writeUInt32LE(i, 0)
    await connection.send(server.host('POST', '/artefacts', body))
  }
  connection.close()
  return count
}

/** Event streams that are open, each of an own session with one subscription. */
export class Streams {
  readonly #clients: Client[] = []
  #heard = 0
  #waiting: { total: number; done: () => void } | undefined

  static async open(server: Server, count: number, uri = sceneUri): Promise<Streams> {
    const streams = new Streams()
    for (let i = 0; i < count; i++) await streams.#add(server, await server.openSession(uri))
    return streams
  }

  /**
   * Changes the scene of `server` so many times, each when all streams have heard of the change
   * before. Resolves with the number of notifications; rejects when one does not come.
   */
  async update(server: Server, count: number): Promise<number> {
    const connection = new Connection(server)
    this.#heard = 0
    for (let i = 1; i <= count; i++) {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      this.#waiting = { total: i * this.#clients.length, done: resolve }
      const late = new Error('an update did not reach every stream')
      const timer = setTimeout(reject, updateTimeoutMs, late)
      const update = server.host('POST', '/scene', makeSceneText(i))
      await Promise.all([connection.send(update), promise])
      clearTimeout(timer)
    }
    connection.close()
    return this.#heard
  }

  close(): void {
    for (const client of this.#clients) void client.destroy()
  }

  async #add(server: Server, session: string): Promise<void> {
    const client = new Client(server.origin, { bodyTimeout: 0 })
    const { statusCode, body } = await client.request(server.stream(session))
    if (statusCode !== 200) throw new Error(`a stream was answered ${statusCode}`)
    this.#clients.push(client)
    let tail = ''
    body.setEncoding('latin1').on('data', (chunk: string) => {
      const lines = (tail + chunk).split('\n')
      tail = lines.pop() ?? ''
      this.#hear(lines.filter(line => line.includes(needle)).length)
    })
    body.on('error', () => {})
  }

  #hear(count: number): void {
    this.#heard += count
    if (this.#waiting !== undefined && this.#heard >= this.#waiting.total) this.#waiting.done()
  }
}
