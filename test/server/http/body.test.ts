import { expect } from 'chai'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { bodyStream, readBody } from '../../../src/server/http/body.ts'
import { toProblem, writeProblem } from '../../../src/server/http/problem.ts'
import { listening } from '../../helpers/listening.ts'
import { RawSocket } from '../../process/raw-socket.ts'
import { head } from '../host/harness.ts'

interface BodyLimits {
  readonly maxBytes: number
  readonly timeoutMs: number
  readonly maxMs?: number
}

const impatient: BodyLimits = { maxBytes: 200_000, timeoutMs: 100 }

type Read = (req: IncomingMessage, limits: BodyLimits) => Promise<Buffer>

const readers: Record<string, Read> = {
  readBody,
  bodyStream: async (req, limits) => {
    const chunks: Uint8Array[] = []
    for await (const chunk of bodyStream(req, limits)) chunks.push(chunk)
    return Buffer.concat(chunks)
  },
}

describe('the body of a request', () => {
  let server: Server
  let port: number
  let read: Read
  let limits: BodyLimits
  /** The body, or why there is none. */
  let outcome: PromiseWithResolvers<unknown>

  before(async () => {
    server = createServer((req, res) => void answer(req, res))
    port = await listening(server)
  })
  beforeEach(() => {
    limits = impatient
    outcome = Promise.withResolvers()
  })

  async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    try {
      const body = await read(req, limits)
      outcome.resolve(body)
      res.end(`read ${body.length} of ${body.subarray(0, 8)}`)
    } catch (error) {
      outcome.resolve(error)
      writeProblem(res, toProblem(error))
    }
  }

  async function open(text = ''): Promise<RawSocket> {
    const raw = await RawSocket.open(port)
    raw.write(text)
    return raw
  }

  const said = (connection: RawSocket, text: string) =>
    connection.waitFor(() => connection.received.includes(text), text)

  for (const [name, reader] of Object.entries(readers)) {
    describe(`with ${name}`, () => {
      beforeEach(() => void (read = reader))

      it('is read with the headers, in pieces, chunked, empty, and as large as it may be', async () => {
        const connection = await open(`${head('/', { 'Content-Length': 5 })}first`)
        await said(connection, 'read 5 of first')
        connection.write(`${head('/', { 'Content-Length': 4 })}a`)
        await once(server, 'request')
        for (const piece of ['b', 'c', 'd']) connection.write(piece)
        await said(connection, 'read 4 of abcd')
        connection.write(`${head('/', { 'Transfer-Encoding': 'chunked' })}2\r\nxy\r\n`)
        connection.write('1\r\nz\r\n0\r\n\r\n')
        await said(connection, 'read 3 of xyz')
        connection.write(head('/', { 'Content-Length': 0 }))
        await said(connection, 'read 0 of')
        connection.write(head('/', { 'Content-Length': limits.maxBytes }))
        connection.write(Buffer.alloc(limits.maxBytes, 'x'))
        await said(connection, `read ${limits.maxBytes} of`)
        connection.close()
      })

      for (const chunked of [false, true]) {
        it(`lets the client read its refusal ${chunked ? 'in chunks' : 'with a length'}`, async () => {
          // Far more than the buffers between the two: a reset would overtake the answer.
          const size = 8_000_000
          const body = Buffer.alloc(size, 'x')
          const connection = await open()
          const { socket } = connection
          socket.pause()
          if (chunked) {
            socket.write(head('/', { 'Transfer-Encoding': 'chunked' }))
            socket.write(`${size.toString(16)}\r\n`)
            socket.write(body)
            socket.write('\r\n0\r\n\r\n')
          } else {
            socket.write(head('/', { 'Content-Length': size }))
            socket.write(body)
          }
          // As a blocking client does: send all, only then read.
          await new Promise<void>(resolve => socket.write('', () => resolve()))
          socket.resume()
          await connection.untilClosed()
          expect(connection.wasReset).to.equal(false)
          expect(connection.received).to.match(/^HTTP\/1\.1 413 [^]*body-too-large[^]*}$/)
        })
      }

      it('fails when the client goes away', async () => {
        const connection = await open(`${head('/', { 'Content-Length': 10 })}half`)
        await once(server, 'request')
        connection.close()
        expect(await outcome.promise).to.have.property('code', 'body_invalid')
      })
    })
  }

  it('is given up when it makes progress for ever', async () => {
    read = readBody
    limits = { maxBytes: 200_000, timeoutMs: 10_000, maxMs: 50 }
    const connection = await open(head('/', { 'Content-Length': 1000 }))
    const drip = setInterval(() => connection.write('x'), 5)
    await said(connection, 'not complete after 50 ms')
    clearInterval(drip)
    expect(connection.received).to.match(/^HTTP\/1\.1 408 /)
    connection.close()
  })
})
