import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import { connect, type Socket } from 'node:net'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect as connectSecure, type TLSSocket } from 'node:tls'
import { expect } from 'chai'
import { silentLogger } from '../../../src/lib/util/logger.ts'
import { ServerSocket } from '../../../src/server/http/server-socket.ts'
import { makePair, type Pair, writePair } from '../../helpers/certificate.ts'
import { boundsWith } from '../../helpers/bounds.ts'

const patient = boundsWith({ stopGraceMs: 60_000 })
const request = 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'

describe('a server with TLS', () => {
  let folder: string
  let pair: Pair
  let listening: ServerSocket
  let sockets: Socket[]

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'listen-tls-'))
    pair = makePair()
    sockets = []
  })
  afterEach(async () => {
    for (const socket of sockets) socket.destroy()
    await listening.stop()
    await rm(folder, { recursive: true, force: true })
  })

  async function start(listener: RequestListener): Promise<void> {
    const where = { host: '127.0.0.1', port: 0, tls: await writePair(folder, pair) }
    listening = new ServerSocket(where, { limits: patient, log: silentLogger })
    await listening.bind({ listener })
  }

  async function open(options: { maxVersion?: 'TLSv1.1' | 'TLSv1.2' } = {}): Promise<TLSSocket> {
    const { port } = listening
    const socket = connectSecure({ host: '127.0.0.1', port, ca: pair.cert, ...options })
    sockets.push(socket)
    await once(socket, 'secureConnect')
    return socket
  }

  /** Speaks no TLS. */
  async function openRaw(): Promise<Socket> {
    const socket = connect(listening.port, '127.0.0.1')
    sockets.push(socket)
    socket.on('error', () => {})
    await once(socket, 'connect')
    return socket
  }

  async function answerOf(socket: Socket): Promise<string> {
    socket.write(request)
    const [bytes] = (await once(socket, 'data')) as [Buffer]
    return bytes.toString()
  }

  const ok: RequestListener = (_req, res) => void res.end('ok')

  it('speaks TLS 1.2 and 1.3, and nothing older', async () => {
    await start(ok)
    expect((await open()).getProtocol()).to.equal('TLSv1.3')
    expect((await open({ maxVersion: 'TLSv1.2' })).getProtocol()).to.equal('TLSv1.2')
    const older: unknown = await open({ maxVersion: 'TLSv1.1' }).catch((error: unknown) => error)
    expect(older).to.be.instanceOf(Error)
  })

  it('closes a connection that speaks plain HTTP', async () => {
    await start(ok)
    const socket = await openRaw()
    socket.write(request)
    await once(socket.resume(), 'close')
  })

  it('stops at once with connections that are idle or in their handshake', async () => {
    await start(ok)
    const [idle, shaking] = [await open(), await openRaw()]
    await answerOf(idle)
    const gone = Promise.all([once(idle, 'close'), once(shaking, 'close')])
    await listening.stop()
    await gone
  })
})
