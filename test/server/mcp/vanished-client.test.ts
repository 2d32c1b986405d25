import { once } from 'node:events'
import { createServer, request } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { expect } from 'chai'
import type { AccessEntry } from '../../../src/lib/util/logger.ts'
import { McpHttpServer } from '../../../src/server/mcp/mcp-http-server.ts'
import { ask, RawSession, rpc, startServer } from '../../helpers/mcp.ts'
import { statelessHeaders, statelessRequest } from '../../helpers/stateless.ts'

const chars = 200_000
/** Room for one large answer at a time, and not for two. */
const limits = { maxHeldAnswerBytes: 1.5 * chars }

/** A producer whose answers come when the test says so. */
class Waiting {
  readonly scheme = 'waiting'
  readonly #waiting: (() => void)[] = []
  #arrived: () => void = () => {}

  list(): [] {
    return []
  }

  async read(uri: string): Promise<{ uri: string; text: string }[]> {
    await new Promise<void>(resolve => {
      this.#waiting.push(resolve)
      this.#arrived()
    })
    return [{ uri, text: 'x'.repeat(chars) }]
  }

  /** Resolves when a reader waits. */
  async asked(): Promise<void> {
    if (this.#waiting.length > 0) return
    await new Promise<void>(resolve => (this.#arrived = resolve))
  }

  answer(): void {
    for (const resolve of this.#waiting.splice(0)) resolve()
  }
}

const transports = {
  'in a session': async (url: string) => {
    const { headers } = await RawSession.open(url)
    return (uri: string) => ({ headers, body: rpc('resources/read', { uri }) })
  },
  'of 2026-07-28': async () => (uri: string) => ({
    headers: statelessHeaders('resources/read', { uri }),
    body: JSON.stringify(statelessRequest('resources/read', { uri })),
  }),
}

describe('a client that leaves before its answer is there', () => {
  for (const [transport, open] of Object.entries(transports)) {
    it(`occupies no capacity of the remaining clients, ${transport}`, async () => {
      const producer = new Waiting()
      let cut: () => void = () => {}
      const parts = { accessLog: ({ status }: AccessEntry) => void (status === null && cut()) }
      const running = await startServer({ limits }, parts, server =>
        server.resources().addProducer(producer),
      )
      try {
        const reading = await open(running.url)
        for (const name of ['a', 'b']) {
          const { headers, body } = reading(`waiting://${name}`)
          const left = request(running.url, { method: 'POST', headers, agent: false })
          left.on('error', () => {})
          left.end(body)
          await producer.asked()
          const gone = new Promise<void>(resolve => (cut = resolve))
          left.destroy()
          await gone
          producer.answer()
        }
        const { headers, body } = reading('waiting://c')
        const staying = ask(running.url, { method: 'POST', headers, body })
        await producer.asked()
        producer.answer()
        const { json } = await staying
        expect(json.error).to.equal(undefined)
        expect(json.result.contents[0].text).to.have.length(chars)
      } finally {
        await running.stop()
      }
    })
  }
})

describe('a client that takes nothing of a large answer', () => {
  it('is cut, also inside a server of the host', async () => {
    const cut = Promise.withResolvers<void>()
    const accessLog = ({ rpc }: AccessEntry) => rpc === 'resources/read' && cut.resolve()
    const server = new McpHttpServer(
      { limits: { streamStallMs: 200, streamKeepAliveMs: 100 } },
      { accessLog: entry => void accessLog(entry) },
    )
    server.resources().setScene({ big: 'x'.repeat(7_000_000) })
    const host = createServer(server.requestListener())
    host.listen(0, '127.0.0.1')
    await once(host, 'listening')
    const socket = connect((host.address() as AddressInfo).port, '127.0.0.1')
    try {
      const { headers, body } = (await transports['of 2026-07-28']())('scene://current')
      const lines = Object.entries({ Host: 'localhost', ...headers, 'Content-Length': body.length })
      const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
      socket.on('error', () => {})
      socket.write(`POST /mcp HTTP/1.1\r\n${head}\r\n${body}`)
      await once(socket, 'readable')
      await cut.promise
    } finally {
      socket.destroy()
      host.closeAllConnections()
      host.close()
      await server.stop()
    }
  })
})
