import { expect } from 'chai'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { RawSession, startServer, type TestServer } from '../../helpers/mcp.ts'
import { statelessHeaders, statelessRequest } from '../../helpers/stateless.ts'

const each = 500
const uri = 'test://shown'

describe('1,000 subscribers of both transports on one server', () => {
  let running: TestServer
  const sessions: Listener[] = []
  const streams: Listener[] = []

  before(async () => {
    running = await startServer({}, {}, server =>
      server.resources().addProducer({ scheme: 'test', list: () => [], read: () => [] }),
    )
    for (let n = 0; n < each; n++) {
      const session = await RawSession.open(running.url)
      await session.call('resources/subscribe', { uri })
      const head = `GET /mcp HTTP/1.1\r\nMcp-Session-Id: ${session.id}\r\n`
      sessions.push(await Listener.open(running.url, head))

      const method = 'subscriptions/listen'
      const notifications = { resourceSubscriptions: [uri] }
      const body = JSON.stringify(statelessRequest(method, { notifications }, idOf(n)))
      const headers = { ...statelessHeaders(method), 'Content-Length': body.length }
      const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
      streams.push(
        await Listener.open(running.url, `POST /mcp HTTP/1.1\r\n${lines.join('')}`, body),
      )
    }
  })
  after(async () => {
    for (const { socket } of [...sessions, ...streams]) socket.destroy()
    await running?.stop()
  })

  /** Texts and numbers in turn: clients count, each in its own way. */
  const idOf = (n: number) => (n % 2 === 0 ? n : `listen-${n}`)

  it('are each told in their own shape, which is serialised once', async () => {
    const stringify = JSON.stringify
    let serialised = 0
    JSON.stringify = ((...args: Parameters<typeof stringify>) => {
      serialised++
      return stringify(...args)
    }) as typeof stringify
    try {
      running.server.resources().notifyUpdated(uri)
      expect(serialised).to.equal(2)
      running.server.resources().notifyUpdated(uri)
      expect(serialised).to.equal(2)
    } finally {
      JSON.stringify = stringify
    }
    await Promise.all([...sessions, ...streams].map(listener => listener.until(2)))
    const update = { jsonrpc: '2.0', method: 'notifications/resources/updated' }
    for (const { updates } of sessions) {
      expect(updates).to.deep.equal(Array(2).fill({ ...update, params: { uri } }))
    }
    streams.forEach(({ updates }, n) => {
      const _meta = { 'io.modelcontextprotocol/subscriptionId': idOf(n) }
      expect(updates).to.deep.equal(Array(2).fill({ ...update, params: { uri, _meta } }))
    })
  })

  it('are told every update when they come one at a time', async () => {
    const all = [...sessions, ...streams]
    const before = all[0]?.updates.length ?? 0
    for (let n = 1; n <= 5; n++) {
      running.server.resources().notifyUpdated(uri)
      await Promise.all(all.map(listener => listener.until(before + n)))
    }
    for (const { updates } of all) expect(updates).to.have.length(before + 5)
  })
})

/** A stream on a bare socket: a thousand HTTP clients would be what is measured. */
class Listener {
  readonly socket: Socket
  readonly updates: unknown[] = []
  #text = ''
  #wake = () => {}

  private constructor(socket: Socket) {
    this.socket = socket
    socket.setEncoding('utf8')
    socket.on('data', (text: string) => this.#feed(text))
    socket.on('error', () => {})
    socket.on('close', () => this.#wake())
  }

  static async open(url: string, head: string, body = ''): Promise<Listener> {
    const { hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname)
    await once(socket, 'connect')
    const listener = new Listener(socket)
    const opened = once(socket, 'data')
    socket.write(`${head}Host: ${hostname}\r\n\r\n${body}`)
    const [first] = await opened
    expect(first).to.match(/^HTTP\/1\.1 200 /)
    return listener
  }

  /** Resolves when so many updates have come in all; fails after 20 s, or with the connection. */
  async until(count: number): Promise<void> {
    const late = setTimeout(() => this.socket.destroy(), 55_000)
    while (this.updates.length < count && !this.socket.destroyed) {
      await new Promise<void>(resolve => (this.#wake = resolve))
    }
    clearTimeout(late)
    expect(this.updates.length).to.be.at.least(count)
  }

  #feed(text: string): void {
    this.#text += text
    const events = this.#text.split('\n\n')
    this.#text = events.pop() ?? ''
    for (const event of events) {
      const data = /^data: (.*)$/m.exec(event)?.[1]
      if (data?.includes('notifications/resources/updated')) this.updates.push(JSON.parse(data))
    }
    this.#wake()
  }
}
