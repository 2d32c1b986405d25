import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect } from 'chai'
import { ask, postHeaders, rpc, startServer } from '../../helpers/mcp.ts'

const MiB = 1024 * 1024
const count = 140
/** The server holds 128 MiB of incomplete bodies. */
const fitting = 128

describe('incomplete bodies of many clients', () => {
  it('are bounded in total: 503 with Retry-After, and small requests go on', async () => {
    const running = await startServer()
    const { hostname, port } = new URL(running.url)
    const sockets: Socket[] = []
    let refused = 0
    const enough = Promise.withResolvers<void>()
    const send = (size: number) => {
      const socket = connect(Number(port), hostname)
      sockets.push(socket)
      socket.on('error', () => {})
      const head = `Host: localhost\r\nContent-Type: application/json\r\nContent-Length: ${MiB}\r\n`
      socket.write(`POST /mcp HTTP/1.1\r\n${head}\r\n`)
      socket.write(Buffer.alloc(size, ' '))
      return socket
    }
    try {
      for (let n = 0; n < count; n++) {
        send(MiB - 1).once('data', answer => {
          expect(String(answer)).to.match(/^HTTP\/1\.1 503 .*\r\nRetry-After: 1\r\n/s)
          if (++refused === count - fitting) enough.resolve()
        })
      }
      await enough.promise
      const small = await ask(running.url, {
        method: 'POST',
        headers: postHeaders,
        body: rpc('ping'),
      })
      expect(small.status).not.to.equal(503)
      // The oldest are refused, so a body that others cannot hold up arrives whole.
      const [large] = await once(send(MiB), 'data')
      expect(String(large)).not.to.match(/^HTTP\/1\.1 503 /)
    } finally {
      for (const socket of sockets) socket.destroy()
    }
    await running.stop()
  })
})
