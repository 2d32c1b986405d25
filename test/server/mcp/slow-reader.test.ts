import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { expect } from 'chai'
import { McpHttpServer } from '../../../src/server/mcp/mcp-http-server.ts'
import { SessionEventBuffer } from '../../../src/server/resources/session-event-buffer.ts'
import { RawSession, startServer, type TestServer } from '../../helpers/mcp.ts'
import { statelessHeaders, statelessRequest } from '../../helpers/stateless.ts'
import { until } from '../../helpers/until.ts'

/** Long, so that few updates fill what the system holds for a reader that does not read. */
const padding = 'x'.repeat(1900)
const scene = `scene://delta?since=${'0'.repeat(1900)}`
const other = `test://other?pad=${padding}`

/** Opens a stream that is told of the URIs, and of changed lists. */
type Opener = (url: string, uris: readonly string[]) => Promise<Opened>

interface Opened {
  reader: Reader
  /** Gives up one URI; only a session can. */
  unsubscribe(uri: string): Promise<unknown>
}

const openers: Record<string, Opener> = {
  'a session stream': async (url, uris) => {
    const session = await RawSession.open(url)
    for (const uri of uris) await session.call('resources/subscribe', { uri })
    const headers = `Accept: text/event-stream\r\nMcp-Session-Id: ${session.id}\r\n`
    return {
      reader: await Reader.open(url, `GET /mcp HTTP/1.1\r\n${headers}`),
      unsubscribe: uri => session.call('resources/unsubscribe', { uri }),
    }
  },
  'a listen stream': async (url, uris) => {
    const method = 'subscriptions/listen'
    const notifications = { resourceSubscriptions: uris, resourcesListChanged: true }
    const body = JSON.stringify(statelessRequest(method, { notifications }))
    const headers = { ...statelessHeaders(method), 'Content-Length': body.length }
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    const reader = await Reader.open(url, `POST /mcp HTTP/1.1\r\n${lines.join('')}`, body)
    await until(() => reader.count('acknowledged') === 1)
    reader.text = ''
    return { reader, unsubscribe: async () => {} }
  },
}

for (const [kind, open] of Object.entries(openers))
  describe(`${kind} whose reader is behind`, () => {
    let running: TestServer
    let unsubscribe: Opened['unsubscribe']
    let reader: Reader

    async function start(limits = {}): Promise<void> {
      running = await startServer(
        { limits: { maxStreamBufferBytes: 16_384, listChangedIntervalMs: 1, ...limits } },
        {},
        server =>
          server.resources().addProducer({ scheme: 'test', list: () => [], read: () => [] }),
      )
      ;({ reader, unsubscribe } = await open(running.url, [scene, other]))
    }

    afterEach(async () => {
      reader.socket.destroy()
      await running.stop()
    })

    /** 20,000 updates of 2 KB: far more than the system's buffers on both sides take. */
    async function overfill(who = reader, server = running.server): Promise<void> {
      who.socket.pause()
      for (let n = 0; n < 20_000; n++) {
        server.resources().setScene({ n })
        // What is written leaves the process only between turns.
        if (n % 5 === 0) await new Promise(resolve => setImmediate(resolve))
      }
    }

    it('keeps a bounded number of updates for it, and goes on once it reads', async () => {
      await start()
      const before = process.memoryUsage().arrayBuffers
      await overfill()
      const kept = process.memoryUsage().arrayBuffers - before
      expect(kept).to.be.below(20 * 1024 * 1024)
      reader.socket.resume()
      await reader.quiet()
      // 80 MB were announced; what came is what the system had taken, and the newest state.
      expect(reader.count(scene)).to.be.within(1, 15_000)
      const heard = reader.count(scene)
      running.server.resources().setScene({ n: 'last' })
      await until(() => reader.count(scene) === heard + 1)
    })

    it('is told once of every other URI it missed, and of a changed list', async () => {
      await start()
      await overfill()
      for (let n = 0; n < 3; n++) running.server.resources().notifyUpdated('test://other')
      const buffer = new SessionEventBuffer({ sessionId: 'new' })
      running.server.resources().registerSessionEventBuffer(buffer)
      await new Promise(resolve => setTimeout(resolve, 20))
      reader.socket.resume()
      await until(() => reader.count(other) > 0 && reader.count('list_changed') > 0)
      await reader.quiet()
      expect(reader.count(other)).to.equal(1)
      expect(reader.count('list_changed')).to.equal(1)
    })

    // A listen stream is about the same URIs to its end.
    if (kind === 'a session stream') {
      it('is not told of what it unsubscribed from meanwhile', async () => {
        await start()
        await overfill()
        running.server.resources().notifyUpdated('test://other')
        await unsubscribe(other)
        reader.socket.resume()
        await reader.quiet()
        expect(reader.count(other)).to.equal(0)
      })
    }

    it('is cut when it takes nothing for long, also inside a server of the host', async () => {
      await start()
      const limits = { streamKeepAliveMs: 150, streamStallMs: 300, maxStreamBufferBytes: 16_384 }
      const embedded = new McpHttpServer({}, { limits })
      const http = createServer(embedded.requestListener()).listen(0, '127.0.0.1')
      await once(http, 'listening')
      const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`
      const { reader: stuck } = await open(url, [scene])
      try {
        await overfill(stuck, embedded)
        // Taking nothing is what is tested: there is no event to wait for.
        await new Promise(resolve => setTimeout(resolve, 800))
        stuck.socket.resume()
        await until(() => stuck.socket.closed)
      } finally {
        stuck.socket.destroy()
        await embedded.stop()
        http.closeAllConnections()
        http.close()
      }
    })

    it('gets a comment now and then when there is nothing to tell', async () => {
      await start({ streamKeepAliveMs: 150 })
      await until(() => reader.text.includes('\n:\n\n') || reader.text.endsWith(':\n\n'))
    })
  })

/** A GET stream on a bare socket, which reads or does not read as it is told. */
class Reader {
  readonly socket: Socket
  text = ''
  #bytes = 0

  private constructor(socket: Socket) {
    this.socket = socket
    // A stream that is cut ends in a reset.
    socket.on('error', () => {})
    socket.on('data', (bytes: Buffer) => {
      this.#bytes += bytes.length
      this.text += bytes.toString('latin1').replaceAll(padding, '')
    })
  }

  static async open(url: string, head: string, body = ''): Promise<Reader> {
    const { hostname, port } = new URL(url)
    const reader = new Reader(connect(Number(port), hostname))
    reader.socket.write(`${head}Host: ${hostname}\r\n\r\n${body}`)
    await until(() => reader.text.includes('\r\n\r\n'))
    expect(reader.text).to.match(/^HTTP\/1.1 200/)
    return reader
  }

  /** Messages that mention the text; the padding is not part of what is kept. */
  count(what: string): number {
    return this.text.split(what.replace(padding, '')).length - 1
  }

  /** Nothing has come for a while. */
  async quiet(): Promise<void> {
    for (let last = -1; last !== this.#bytes;) {
      last = this.#bytes
      await new Promise(resolve => setTimeout(resolve, 300))
    }
  }
}
