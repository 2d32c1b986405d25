import { type EventEmitter, once } from 'node:events'
import type { RequestListener, ServerResponse } from 'node:http'
import { type Socket, connect } from 'node:net'
import { expect } from 'chai'
import { silentLogger } from '../../../src/lib/util/logger.ts'
import { type Listening, listen, type Upgrades } from '../../../src/server/http/listen.ts'
import { recordingLog } from '../../helpers/recording-log.ts'
import { boundsWith } from '../../helpers/bounds.ts'

/** So long that no test passes because of the cut at its end. */
const patient = boundsWith({ stopGraceMs: 60_000 })
const MiB = 1024 * 1024

describe('stop', () => {
  let listening: Listening
  let sockets: Socket[]

  beforeEach(() => (sockets = []))
  afterEach(async () => {
    for (const socket of sockets) socket.destroy()
    await listening.stop(() => {})
  })

  async function start(listener: RequestListener, limits = patient): Promise<void> {
    listening = await listen(
      { host: '127.0.0.1', port: 0 },
      { listener, limits, log: silentLogger },
    )
  }

  async function open(text = ''): Promise<Socket> {
    const socket = connect(listening.address.port, '127.0.0.1')
    sockets.push(socket)
    await once(socket, 'connect')
    socket.write(text)
    return socket
  }

  const request = 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'

  it('lets a slow but steady reader have its whole answer', async () => {
    const size = 16 * MiB
    const asked = Promise.withResolvers<void>()
    await start((_req, res) => {
      res.writeHead(200, { 'Content-Length': size }).end(Buffer.alloc(size, 'x'))
      asked.resolve()
    })
    const socket = await open(request)
    socket.pause()
    await asked.promise
    const stopped = listening.stop(() => {})
    expect(await readSlowly(socket)).to.be.greaterThan(size)
    await stopped
  })

  it('lets several answers of one connection leave', async () => {
    const answers: ServerResponse[] = []
    const asked = Promise.withResolvers<void>()
    await start((_req, res) => {
      if (answers.push(res) === 3) asked.resolve()
    })
    const socket = await open(request.repeat(3))
    await asked.promise
    const stopped = listening.stop(() => {})
    for (const res of answers) res.end(Buffer.alloc(4 * MiB, 'x'))
    expect(await readSlowly(socket)).to.be.greaterThan(3 * 4 * MiB)
    await stopped
  })

  it('stops reading a connection with many unanswered requests, then answers them all', async () => {
    const waiting: ServerResponse[] = []
    let most = 0
    let answering = false
    await start((_req, res) => {
      most = Math.max(most, waiting.push(res))
      if (answering) waiting.pop()?.end('x')
    })
    const socket = await open(request.repeat(32))
    // In reads of their own: requests of one read are all parsed.
    const other = await open()
    let sent = 32
    while (waiting.length < 32) await new Promise(setImmediate)
    for (; sent < 64; sent++) {
      socket.write(request)
      await new Promise(setImmediate)
    }
    other.write('GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
    while (waiting.length < 33) await new Promise(setImmediate)
    expect(waiting).to.have.lengthOf(33)
    answering = true
    for (const res of waiting.splice(0)) res.end('x')
    let text = ''
    socket.setEncoding('latin1').on('data', chunk => (text += chunk))
    while (text.split('HTTP/1.1 200').length <= 64) await once(socket, 'data')
    expect(most).to.equal(33)
  })

  it('closes a connection after 256 requests of one read that are not answered', async () => {
    const seen: ServerResponse[] = []
    await start((_req, res) => {
      seen.push(res)
      setImmediate(() => res.end('x'))
    })
    const socket = await open(request.repeat(600))
    let text = ''
    socket.setEncoding('latin1').on('data', chunk => (text += chunk))
    await once(socket, 'close')
    expect(seen).to.have.lengthOf(256)
    expect(text.split('HTTP/1.1 200')).to.have.lengthOf(257)
    expect(text.match(/connection: close/gi)).to.have.lengthOf(1)
  })

  it('delivers what is written to a stream in the turn of the stop', async () => {
    const streaming = Promise.withResolvers<ServerResponse>()
    await start((_req, res) => {
      res.writeHead(200, { 'Content-Type': 'text/event-stream' }).flushHeaders()
      // The reader is behind: all of this waits in the program, and the last words behind it.
      res.write(Buffer.alloc(16 * MiB, 'x'))
      streaming.resolve(res)
    })
    const socket = await open(request)
    socket.pause()
    const res = await streaming.promise
    res.write('data: last words\n\n')
    const stopped = listening.stop(() => void res.end())
    let tail = ''
    socket.on('data', bytes => (tail = (tail + bytes.toString('latin1')).slice(-200)))
    socket.resume()
    await once(socket, 'close')
    expect(tail)
      .to.contain('data: last words\n\n')
      .and.match(/\r\n0\r\n\r\n$/)
    await stopped
  })

  it('closes idle connections at once, used ones and silent ones', async () => {
    await start((_req, res) => void res.end('answered'))
    const used = await open(request)
    await once(used, 'data')
    const silent = await open()
    // The server has taken both connections once it has answered on a third.
    await once(await open(request), 'data')
    await Promise.all([once(used, 'close'), once(silent, 'close'), listening.stop(() => {})])
  })

  it('cuts a reader that stopped after the grace time', async () => {
    const asked = Promise.withResolvers<void>()
    await start(
      (_req, res) => {
        res.end(Buffer.alloc(32 * MiB, 'x'))
        asked.resolve()
      },
      boundsWith({ stopGraceMs: 50 }),
    )
    const socket = await open(request)
    socket.pause()
    await asked.promise
    await listening.stop(() => {})
  })
})

/** Reads a piece, waits a turn, and so on to the end; resolves with the number of bytes. */
async function readSlowly(socket: Socket): Promise<number> {
  let count = 0
  for await (const bytes of socket) {
    count += (bytes as Buffer).length
    await new Promise(resolve => setImmediate(resolve))
  }
  return count
}

describe('an error of the listening socket', () => {
  it('does not end the process, and is logged once', async () => {
    const { lines, ...log } = recordingLog()
    const listener: RequestListener = ({ socket }, res) => {
      // How Node reports a failed accept. It cannot be brought about from outside on Linux.
      const server = Reflect.get(socket, 'server') as EventEmitter
      for (const code of ['ENOBUFS', 'ENOBUFS'])
        server.emit('error', Object.assign(new Error(), { code }))
      res.end()
    }
    const listening = await listen(
      { host: '127.0.0.1', port: 0 },
      { listener, limits: patient, log },
    )
    const answer = await fetch(`http://127.0.0.1:${listening.address.port}/`)
    expect(answer.status).to.equal(200)
    await listening.stop(() => {})
    const text = 'connections cannot be accepted {"code":"ENOBUFS"}'
    expect(lines).to.deep.equal([{ level: 'warn', text }])
  })
})

describe('a client that resets its connection', () => {
  const head = 'Host: localhost\r\n\r\n'
  const serving = async (upgrades: Upgrades) => {
    const listening = await listen(
      { host: '127.0.0.1', port: 0 },
      { listener: (_req, res) => res.end(), upgrades, limits: patient, log: silentLogger },
    )
    const open = async (text: string) => {
      const socket = connect(listening.address.port, '127.0.0.1').on('error', () => {})
      await once(socket, 'connect')
      socket.write(text)
      return socket
    }
    return { listening, open }
  }

  it('does not end the process while its upgrade is looked at', async () => {
    const given = Promise.withResolvers<Socket>()
    const handle: Upgrades['handle'] = (_req, socket) => given.resolve(socket)
    const { listening, open } = await serving({ wants: () => true, handle })
    const client = await open(
      `GET / HTTP/1.1\r\nConnection: upgrade\r\nUpgrade: websocket\r\n${head}`,
    )
    const socket = await given.promise
    // Not `once` of node:events, which listens for errors as well.
    const closed = new Promise(resolve => socket.once('close', resolve).resume())
    client.resetAndDestroy()
    await closed
    await listening.stop(() => {})
  })

  it('does not end the process while its CONNECT is refused', async () => {
    const { listening, open } = await serving({ wants: () => false, handle: () => {} })
    for (let round = 0; round < 20; round++) {
      const client = await open(`CONNECT x:1 HTTP/1.1\r\n${head}`)
      const closed = once(client, 'close')
      if (round % 2 === 0) await new Promise(resolve => setImmediate(resolve))
      client.resetAndDestroy()
      await closed
    }
    await listening.stop(() => {})
  })
})
