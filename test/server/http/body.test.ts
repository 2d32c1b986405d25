import { once } from 'node:events'
import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { connect } from 'node:net'
import { expect } from 'chai'
import { bodyStream, bodyText, readBody } from '../../../src/server/http/body.ts'
import { writeProblem } from '../../../src/server/http/problem.ts'
import { RawConnection, head } from '../host/harness.ts'

const impatient = { maxBytes: 200_000, timeoutMs: 100 }
/** A step within a third of its time-out may come late on a machine at work. */
const patient = { ...impatient, timeoutMs: 750 }
type Read = (req: IncomingMessage, limits: typeof impatient) => Promise<Buffer>

const readers: Record<string, Read> = {
  readBody,
  bodyStream: async (req, limits) => {
    const chunks: Uint8Array[] = []
    for await (const chunk of bodyStream(req, limits)) chunks.push(chunk)
    return Buffer.concat(chunks)
  },
}

for (const [name, read] of Object.entries(readers)) {
  describe(name, () => {
    let server: Server
    let limits: typeof impatient
    let drainMs: number
    let outcomes: unknown[]
    let settled: () => void
    let outcome: Promise<void>

    beforeEach(async () => {
      limits = impatient
      drainMs = 300
      outcomes = []
      outcome = new Promise(resolve => (settled = resolve))
      server = createServer((req, res) => void answer(req, res))
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
    })
    afterEach(async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    })

    async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
      try {
        const body = await read(req, limits)
        outcomes.push(body)
        res.end(`read ${body.length} of ${body.subarray(0, 8)}`)
      } catch (error) {
        outcomes.push(error)
        writeProblem(res, error, {}, drainMs)
      }
      settled()
    }

    async function open(): Promise<RawConnection> {
      const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
      await once(socket, 'connect')
      return new RawConnection(socket)
    }

    it('reads a body that comes with the headers, and the next on the same connection', async () => {
      const connection = await open()
      connection.socket.write(`${head('/', { 'Content-Length': 5 })}first`)
      await connection.until('read 5 of first')
      connection.socket.write(`${head('/', { 'Content-Length': 6 })}second`)
      await connection.until('read 6 of second')
      connection.socket.destroy()
    })

    it('reads a body in pieces, chunked and empty', async () => {
      const connection = await open()
      connection.socket.write(`${head('/', { 'Content-Length': 4 })}a`)
      await once(server, 'request')
      for (const piece of ['b', 'c', 'd']) connection.socket.write(piece)
      await connection.until('read 4 of abcd')
      connection.socket.write(`${head('/', { 'Transfer-Encoding': 'chunked' })}2\r\nxy\r\n`)
      connection.socket.write('1\r\nz\r\n0\r\n\r\n')
      await connection.until('read 3 of xyz')
      connection.socket.write(head('/', { 'Content-Length': 0 }))
      await connection.until('read 0 of')
      connection.socket.destroy()
    })

    it('reads a body of exactly the limit', async () => {
      const connection = await open()
      connection.socket.write(head('/', { 'Content-Length': limits.maxBytes }))
      connection.socket.write(Buffer.alloc(limits.maxBytes, 'x'))
      await connection.until(`read ${limits.maxBytes} of`)
      connection.socket.destroy()
    })

    it('refuses a declared length over the limit before any byte of it', async () => {
      const connection = await open()
      connection.socket.write(head('/', { 'Content-Length': limits.maxBytes + 1 }))
      await connection.until('}')
      expect(connection.received).to.match(/^HTTP\/1\.1 413 /)
      expect(connection.received).to.match(/\r\nConnection: close\r\n/)
      connection.socket.destroy()
    })

    for (const chunked of [false, true]) {
      it(`lets the client read the refusal of a body ${chunked ? 'in chunks' : 'with a length'}`, async () => {
        // Client and server share this process: a short drain ends before the client has written.
        drainMs = 10_000
        const connection = await open()
        // Far more than the buffers between the two: a reset would overtake the answer.
        const size = 8_000_000
        const body = Buffer.alloc(size, 'x')
        connection.socket.pause()
        if (chunked) {
          connection.socket.write(head('/', { 'Transfer-Encoding': 'chunked' }))
          connection.socket.write(`${size.toString(16)}\r\n`)
          connection.socket.write(body)
          connection.socket.write('\r\n0\r\n\r\n')
        } else {
          connection.socket.write(head('/', { 'Content-Length': size }))
          connection.socket.write(body)
        }
        // As a blocking client does: send all, only then read.
        await new Promise<void>(resolve => connection.socket.write('', () => resolve()))
        connection.socket.resume()
        await connection.closed
        expect(connection.error).to.equal(undefined)
        expect(connection.received).to.match(/^HTTP\/1\.1 413 [^]*body-too-large[^]*}$/)
      })
    }

    it('cuts a refused client that never ends, after the answer', async () => {
      const connection = await open()
      connection.socket.write(head('/', { 'Content-Length': limits.maxBytes + 1 }))
      await connection.closed
      expect(connection.received).to.contain('body-too-large')
    })

    it('gives up a body that stands still, from the start or in the middle', async () => {
      for (const sent of ['', 'half']) {
        const connection = await open()
        connection.socket.write(`${head('/', { 'Content-Length': 10 })}${sent}`)
        await connection.closed
        expect(connection.received).to.match(/^HTTP\/1\.1 408 [^]*body-timeout/)
      }
    })

    it('waits for a body that makes progress', async () => {
      limits = patient
      const connection = await open()
      connection.socket.write(head('/', { 'Content-Length': 4 }))
      // In all well over the time-out, each step within it.
      for (const piece of 'slow') {
        await new Promise(resolve => setTimeout(resolve, limits.timeoutMs / 3))
        connection.socket.write(piece)
      }
      await connection.until('read 4 of slow')
      connection.socket.destroy()
    })

    it('rejects when the client goes away', async () => {
      const connection = await open()
      connection.socket.write(`${head('/', { 'Content-Length': 10 })}half`)
      await once(server, 'request')
      connection.socket.destroy()
      await outcome
      expect(outcomes).to.have.length(1)
      expect(outcomes[0]).to.have.property('code', 'body_invalid')
    })
  })
}

describe('readBody', () => {
  it('gives up a body that makes progress for ever', async () => {
    const server = createServer((req, res) => {
      readBody(req, { maxBytes: 200_000, timeoutMs: 10_000, maxMs: 50 }).then(
        () => res.end('read'),
        (error: unknown) => writeProblem(res, error, {}, 0),
      )
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const connection = new RawConnection(connect((server.address() as AddressInfo).port))
    connection.socket.write(head('/', { 'Content-Length': 1000 }))
    const drip = setInterval(() => connection.socket.write('x'), 5)
    await connection.closed
    clearInterval(drip)
    expect(connection.received).to.match(/^HTTP\/1\.1 408 [^]*not complete after 50 ms/)
    server.close()
  })

  it('arms no timer for a body that comes in one piece', async () => {
    const server = createServer((req, res) => {
      readBody(req, impatient).then(
        () => res.end('done'),
        () => res.destroy(),
      )
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const original = globalThis.setTimeout
    let armed = 0
    const counting: typeof setTimeout = Object.assign((...args: Parameters<typeof setTimeout>) => {
      armed++
      return original(...args)
    }, original)
    globalThis.setTimeout = counting
    try {
      const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
      const connection = new RawConnection(socket)
      socket.write(`${head('/', { 'Content-Length': 4 })}once`)
      await connection.until('done')
      expect(armed).to.equal(0)
      socket.write(`${head('/', { 'Content-Length': 4 })}tw`)
      await once(server, 'request')
      for (let turn = 0; turn < 3; turn++) await new Promise(resolve => setImmediate(resolve))
      expect(armed).to.equal(1)
      socket.destroy()
    } finally {
      globalThis.setTimeout = original
      server.closeAllConnections()
      server.close()
    }
  })
})

describe('bodyText', () => {
  const cases: [string, string | null][] = [
    ['', ''],
    ['7b7d', '{}'],
    ['efbbbf7b7d', '{}'],
    ['c3a4', 'ä'],
    ['f09f98ba', '😺'],
    ['ff', null],
    ['c3', null],
    ['c0af', null],
    ['eda080', null],
    ['f4908080', null],
  ]
  for (const [hex, text] of cases) {
    it(`${text === null ? 'refuses' : 'decodes'} ${hex || 'nothing'}`, () => {
      const body = Buffer.from(hex, 'hex')
      if (text !== null) expect(bodyText(body)).to.equal(text)
      else
        expect(() => bodyText(body))
          .to.throw('UTF-8')
          .with.property('code', 'body_invalid')
    })
  }
})
