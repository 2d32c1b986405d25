/** Makes the load, in this process. */
import { Writable } from 'node:stream'
import { Client } from 'undici'
import { makeBlob, makeSceneText, sceneUri } from './fixture.ts'
import type { Figures } from './measure.ts'
import { resultOf, type Sent, type Server } from './server.ts'

const needle = 'notifications/resources/updated'
const updateTimeoutMs = 20_000

/** What the servers together needed for each of the things that `work` says it did. */
export async function measureWork(
  servers: readonly Server[],
  work: () => Promise<number>,
): Promise<Figures> {
  const [before, started] = [await cpuOf(servers), performance.now()]
  const count = await work()
  const seconds = (performance.now() - started) / 1000
  const cpuMs = (await cpuOf(servers)) - before
  return { perSecond: count / seconds, cpuUs: (cpuMs / count) * 1000 }
}

async function cpuOf(servers: readonly Server[]): Promise<number> {
  const each = await Promise.all(servers.map(server => server.usage('cpuMs')))
  return each.reduce((sum, ms) => sum + ms, 0)
}

/** One connection, kept alive. */
function connect({ origin }: Server): Client {
  return new Client(origin, { bodyTimeout: 0 })
}

/** Resolves when the whole answer is there. */
async function send(client: Client, sent: Sent): Promise<void> {
  await client.stream(sent, ({ statusCode }) => {
    if (statusCode < 300) return new Writable({ write: (_chunk, _encoding, done) => done() })
    throw new Error(`${sent.method} ${sent.path} was answered ${statusCode}`)
  })
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
    const connection = connect(server)
    // Evenly apart, so that no connection asks for what another has just had.
    const start = Math.floor((index * own.length) / requests.length)
    for (let turn = start; performance.now() < deadline; turn++) {
      await send(connection, own[turn % own.length] as Sent)
      completed++
    }
    await connection.destroy()
  }
  await Promise.all(requests.map(loop))
  return completed
}

/** One after the other, each different from all before. */
export async function upload(server: Server, count: number): Promise<number> {
  const body = makeBlob(performance.now())
  const connection = connect(server)
  for (let i = 0; i < count; i++) {
    body.writeUInt32LE(i, 0)
    await send(connection, server.host('POST', '/artefacts', body))
  }
  await connection.destroy()
  return count
}

/** Event streams that are open, each of an own session with one subscription. */
export class Streams {
  readonly #clients: Client[] = []
  #heard = 0
  #awaited = { count: 0, done: () => {} }

  static async open(server: Server, count: number, uri = sceneUri): Promise<Streams> {
    const streams = new Streams()
    for (let i = 0; i < count; i++) {
      const session = await server.openSession()
      await resultOf(server.call(session, 'resources/subscribe', { uri }))
      await streams.#add(server, session)
    }
    return streams
  }

  /**
   * Changes the scene of `server` so many times, each when all streams have heard of the change
   * before. Resolves with the number of notifications; rejects when one does not come.
   */
  async update(server: Server, count: number): Promise<number> {
    const connection = connect(server)
    this.#heard = 0
    for (let i = 1; i <= count; i++) {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      this.#awaited = { count: i * this.#clients.length, done: resolve }
      const late = new Error('an update did not reach every stream')
      const timer = setTimeout(reject, updateTimeoutMs, late)
      const update = server.host('POST', '/scene', makeSceneText(i))
      await Promise.all([send(connection, update), promise])
      clearTimeout(timer)
    }
    await connection.destroy()
    return this.#heard
  }

  close(): void {
    for (const client of this.#clients) void client.destroy()
  }

  async #add(server: Server, session: string): Promise<void> {
    const client = connect(server)
    const { statusCode, body } = await client.request(server.eventStream(session))
    if (statusCode !== 200) throw new Error(`a stream was answered ${statusCode}`)
    this.#clients.push(client)
    let tail = ''
    body.setEncoding('latin1').on('data', (chunk: string) => {
      const lines = (tail + chunk).split('\n')
      tail = lines.pop() ?? ''
      this.#heard += lines.filter(line => line.includes(needle)).length
      if (this.#heard >= this.#awaited.count) this.#awaited.done()
    })
    body.on('error', () => {})
  }
}
