import { expect } from 'chai'
import { type Events, RawSession } from '../helpers/mcp.ts'
import { type ServeProcess, startServeProcess } from '../helpers/serve-process.ts'
import { RawSocket, requestText } from './raw-socket.ts'
import { until } from '../helpers/until.ts'

const MiB = 1024 * 1024
const scene = 'scene://current'

describe('delivery by the real program', () => {
  let serve: ServeProcess

  before(async () => {
    serve = await startServeProcess({ flags: ['--log-level', 'warn'] })
  })

  after(() => serve.stop())

  async function listener(uri = scene): Promise<{ session: RawSession; events: Events }> {
    const session = await RawSession.open(serve.url)
    await session.call('resources/subscribe', { uri })
    return { session, events: await session.listen() }
  }

  /** Posts scenes on one connection, many at a time. Resolves when the last one is answered. */
  async function burst(count: number, text = ''): Promise<void> {
    const raw = await RawSocket.open(serve.port)
    for (let first = 1; first <= count; first += 200) {
      let requests = ''
      const last = Math.min(first + 199, count)
      for (let frame = first; frame <= last; frame++) {
        const body = JSON.stringify({ frame, text })
        const head = [
          'POST /host/v1/scene HTTP/1.1',
          'Host: localhost',
          'Content-Type: application/json',
          `Authorization: Bearer ${serve.token}`,
          `Content-Length: ${body.length}`,
        ]
        requests += requestText(head, body)
      }
      raw.write(requests)
      const answers = await raw.takeAnswers(last - first + 1)
      expect(answers.every(answer => answer.status === 200)).to.equal(true)
    }
    raw.close()
  }

  it('tells each of 100 sessions of each scene', async () => {
    const listeners = []
    for (let number = 0; number < 100; number++) listeners.push(await listener())
    for (let frame = 1; frame <= 10; frame++) {
      expect((await serve.post('scene', { frame })).status).to.equal(200)
      const told = listeners.map(({ events }) => events.until(() => events.updates.length >= frame))
      await Promise.all(told)
    }
    for (const { session, events } of listeners) {
      expect(events.updates).to.deep.equal(Array(10).fill(scene))
      events.close()
      await session.delete()
    }
  })

  it('tells everyone of the last state of a burst of 3000', async () => {
    const readers = []
    for (let number = 0; number < 10; number++) readers.push(new Reader(await listener()))
    await burst(3000)
    for (const reader of readers) {
      await until(() => reader.frame === 3000, 'the reader knows the last state')
    }
    for (const reader of readers) reader.close()
  })

  it('keeps little for a reader that never reads, and delays nobody for it', async () => {
    const stalled = []
    for (let number = 0; number < 5; number++) {
      const session = await RawSession.open(serve.url)
      // Long URIs make long updates: what the system buffers is soon full.
      for (let topic = 0; topic < 20; topic++) {
        const uri = `scene://delta?since=${'0'.repeat(1950)}${topic}`
        await session.call('resources/subscribe', { uri })
      }
      const raw = await RawSocket.open(serve.port)
      const line = `Mcp-Session-Id: ${session.id}`
      raw.write(requestText(['GET /mcp HTTP/1.1', 'Host: localhost', line]))
      await until(() => raw.received.includes('\r\n\r\n'), 'the stream is open')
      raw.socket.pause()
      stalled.push(raw)
    }
    const reader = new Reader(await listener())
    serve.resetPeak()
    const before = serve.rss().now
    // 5 streams x 20 updates x 2 KB x 1,500 scenes: 300 MB that nobody takes.
    await burst(1500)
    await until(() => reader.frame === 1500, 'the reader knows the last state')
    expect(serve.rss().peak - before).to.be.below(64 * MiB)

    // What it missed was dropped, not kept for it; reading again, it hears of what comes next.
    const [woken] = stalled
    if (woken === undefined) throw new Error('nobody stalled')
    woken.socket.resume()
    await untilQuiet(() => woken.received.length)
    expect(urisIn(woken.received).length).to.be.below((1500 * 20) / 2)
    expect(new Set(urisIn(woken.received).slice(-20)).size).to.equal(20)
    const heard = woken.received.length
    await serve.post('scene', { frame: 'after' })
    await until(() => new Set(urisIn(woken.received.slice(heard))).size === 20, 'all 20 updates')
    for (const raw of stalled) raw.close()
    reader.close()
  })

  it('survives 500 streams of one session, one after the other', async () => {
    const { session, events } = await listener()
    const files = serve.openFiles().length
    const streams = [events]
    for (let number = 0; number < 500; number++) streams.push(await session.listen())
    const newest = streams.pop()
    for (const stream of streams) await stream.untilEnded()
    await serve.post('scene', { storm: true })
    await newest?.until(() => newest.updates.length === 1)
    expect(streams.flatMap(stream => stream.updates)).to.deep.equal([])
    await until(() => serve.openFiles().length <= files + 1, 'the old streams are closed')
    newest?.close()
  })

  it('survives 500 streams of one session at once', async () => {
    const { session } = await listener()
    const opening = await Promise.allSettled(Array.from({ length: 500 }, () => session.listen()))
    const streams = opening.flatMap(each => (each.status === 'fulfilled' ? [each.value] : []))
    expect(streams).to.have.lengthOf(500)
    await until(() => streams.filter(stream => !stream.ended).length === 1, 'one stream is left')
    await serve.post('scene', { storm: true })
    const [last] = streams.filter(stream => !stream.ended)
    await last?.until(() => last.updates.length === 1)
    last?.close()
  })
})

/** A client as it should be: told of a change, it reads; told while reading, it reads again. */
class Reader {
  frame: unknown = null
  readonly #session: RawSession
  readonly #events: Events
  #seen = 0
  #reading = false

  constructor({ session, events }: { session: RawSession; events: Events }) {
    this.#session = session
    this.#events = events
    events.response.on('data', () => void this.#read())
  }

  close(): void {
    this.#events.close()
  }

  async #read(): Promise<void> {
    if (this.#reading) return
    this.#reading = true
    while (this.#seen < this.#events.messages.length) {
      this.#seen = this.#events.messages.length
      this.frame = (await this.#session.readJson(scene)).frame
    }
    this.#reading = false
  }
}

function urisIn(stream: string): string[] {
  return [...stream.matchAll(/"uri":"([^"]+)"}}\n\n/g)].map(([, uri = '']) => uri)
}

/** Resolves when the value stayed the same for 20 looks. */
async function untilQuiet(value: () => number): Promise<void> {
  let last = value()
  let same = 0
  await until(() => {
    same = value() === last ? same + 1 : 0
    last = value()
    return same >= 20
  }, 'nothing more comes')
}
