import { expect } from 'chai'
import { createServer, type Server } from 'node:http'
import { connect, type Socket } from 'node:net'
import type { AccessEntry } from '../../../src/lib/util/logger.ts'
import { McpHttpServer } from '../../../src/server/mcp-http-server.ts'
import { SessionEventBuffer } from '../../../src/server/resources/session-event-buffer.ts'
import { RawSession, startServer, type TestServer } from '../../helpers/mcp.ts'
import { statelessPost } from '../../helpers/stateless.ts'
import { until } from '../../helpers/until.ts'
import { listening } from '../../helpers/listening.ts'
import { atEnd } from '../../helpers/cleanup.ts'

/** Long, so that few updates fill what the system holds for a reader that does not read. */
const padding = 'x'.repeat(1900)
const scene = `scene://delta?since=${'0'.repeat(1900)}`
const other = `test://other?pad=${padding}`
const last = 'test://last'

/** Opens a stream that is told of the URIs, and of changed lists. */
type Opener = (url: string) => Promise<Reader>

const uris = [scene, other, last]

const openers: Record<string, Opener> = {
  'a session stream': async url => {
    const session = await RawSession.open(url)
    for (const uri of uris) await session.call('resources/subscribe', { uri })
    const headers = `Accept: text/event-stream\r\nMcp-Session-Id: ${session.id}\r\n`
    return Reader.open(url, `GET /mcp HTTP/1.1\r\n${headers}`)
  },
  'a listen stream': async url => {
    const notifications = { resourceSubscriptions: uris, resourcesListChanged: true }
    const { headers, body } = statelessPost('subscriptions/listen', { notifications })
    const all = { ...headers, 'Content-Length': body.length }
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
    const reader = await Reader.open(url, `POST /mcp HTTP/1.1\r\n${lines.join('')}`, body)
    await until(() => reader.count('acknowledged') === 1)
    reader.text = ''
    return reader
  },
}

describe('a stream whose reader is behind', () => {
  let running: TestServer
  /** One that has little patience, in a server of the host. */
  let hasty: McpHttpServer
  let host: Server
  let hostUrl: string
  let cut: () => void = () => {}

  before(async () => {
    const limits = { maxStreamBufferBytes: 16_384, streamKeepAliveMs: 150 }
    const addProducer = (server: McpHttpServer) =>
      server.resources().addProducer({ scheme: 'test', list: () => [], read: () => [] })
    running = await startServer({ limits }, {}, addProducer)
    const isStream = ({ method, rpc }: AccessEntry) =>
      method === 'GET' || rpc === 'subscriptions/listen'
    hasty = new McpHttpServer(
      {},
      {
        limits: { ...limits, streamStallMs: 300 },
        accessLog: entry => void (isStream(entry) && cut()),
      },
    )
    addProducer(hasty)
    atEnd(() => hasty.stop())
    host = createServer(hasty.requestListener())
    hostUrl = `http://127.0.0.1:${await listening(host)}/mcp`
  })

  /** 24 MB of updates: far more than the system's buffers on both sides take. */
  const overflow = 12_000

  async function overfill({ socket }: Reader, server = running.server): Promise<void> {
    socket.pause()
    for (let n = 0; n < overflow; n++) {
      server.resources().setScene({ n })
      // What is written leaves the process only between turns.
      if (n % 5 === 0) await new Promise(resolve => setImmediate(resolve))
    }
  }

  for (const [kind, open] of Object.entries(openers)) {
    describe(kind, () => {
      it('keeps one flag per URI for it, and tells it of each once it reads', async () => {
        const reader = await open(running.url)
        const before = process.memoryUsage().arrayBuffers
        await overfill(reader)
        expect(process.memoryUsage().arrayBuffers - before).to.be.below(20 * 1024 * 1024)
        for (let n = 0; n < 3; n++) running.server.resources().notifyUpdated('test://other')
        // Told at most once a second: while the reader is still behind.
        const told = new Promise<void>(listChanged => {
          running.server.resources().listen({ listChanged })
        })
        const buffer = new SessionEventBuffer({ sessionId: kind.replaceAll(' ', '-') })
        running.server.resources().registerSessionEventBuffer(buffer)
        await told
        // The last URI changes behind everything else.
        running.server.resources().notifyUpdated(last)
        reader.socket.resume()
        await until(() => reader.count(last) === 1 && reader.count('list_changed') > 0)
        expect([reader.count(other), reader.count('list_changed')]).to.deep.equal([1, 1])
        // What came is what the system had taken, and the newest state.
        const heard = reader.count(scene)
        expect(heard).to.be.within(1, overflow - 1000)
        running.server.resources().setScene({ n: 'last' })
        await until(() => reader.count(scene) === heard + 1)
        // An idle stream gets a comment now and then.
        await until(() => reader.text.endsWith('\n:\n\n'))
        reader.socket.destroy()
      })

      it('is cut when it takes nothing for long, also inside a server of the host', async () => {
        hasty.resources().setScene({ n: 0 })
        const reader = await open(hostUrl)
        const over = new Promise<void>(resolve => (cut = resolve))
        await overfill(reader, hasty)
        await over
        reader.socket.resume()
        await until(() => reader.socket.closed)
      })
    })
  }
})

/** A stream on a bare socket, which reads or does not read as it is told. */
class Reader {
  readonly socket: Socket
  text = ''

  private constructor(socket: Socket) {
    this.socket = socket
    // A stream that is cut ends in a reset.
    socket.on('error', () => {})
    socket.on('data', (bytes: Buffer) => {
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
}
