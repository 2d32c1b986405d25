import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import {
  type AddressInfo,
  createServer as createTcpServer,
  type Server,
  type Socket,
} from 'node:net'
import { expect } from 'chai'
import { createHolderProbe, type HolderProbe } from '../../../src/server/gateway/holder-probe.ts'
import { activeGatewayJson } from '../../../src/server/gateway/active-gateway.ts'
import { makePair } from '../../helpers/certificate.ts'
import { makeActiveGateway } from '../../unit/gateway/active-gateways.ts'

const active = makeActiveGateway()
const identity = JSON.stringify(activeGatewayJson(active))

describe('a probe of the port holder', () => {
  let probe: HolderProbe
  let server: Server
  const sockets = new Set<Socket>()
  afterEach(() => {
    probe.close()
    end()
  })

  function end(): void {
    for (const socket of sockets) socket.destroy()
    sockets.clear()
    server.close()
  }
  async function listening(made: Server, timeoutMs = 5000): Promise<void> {
    server = made.on('connection', (socket: Socket) => sockets.add(socket))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    probe = createHolderProbe({
      base: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      timeoutMs,
      written: () => Promise.resolve(active),
    })
  }
  const answering = (listener: RequestListener, timeoutMs?: number) =>
    listening(createServer(listener), timeoutMs)

  it('knows a gateway, keeps its connection, and notices when that ends', async () => {
    const paths = new Set<string>()
    await answering((req, res) => {
      paths.add(`${req.method} ${req.url}`)
      res.end(identity)
    })
    for (let look = 0; look < 3; look++) {
      expect(await probe.look()).to.deep.equal({ kind: 'gateway', active })
    }
    expect(sockets.size).to.equal(1)
    expect([...paths]).to.deep.equal(['GET /gateway/v1/resident'])
    const lost = probe.lost()
    for (const socket of sockets) socket.destroy()
    await lost
  })

  it('finds a gateway with TLS, whatever its certificate, and keeps its connection', async () => {
    const pair = makePair({ names: ['studio.example'], until: new Date(0) })
    const secured = new Set<Socket>()
    const secure = createSecureServer(pair, (req, res) => {
      secured.add(req.socket)
      res.end(identity)
    })
    await listening(secure)
    for (let look = 0; look < 3; look++) {
      expect(await probe.look()).to.deep.equal({ kind: 'gateway', active })
    }
    expect(secured.size).to.equal(1)
    for (const socket of secured) socket.destroy()
    await probe.lost()
  })

  const strange: [string, RequestListener][] = [
    ['a page', (_req, res) => res.end('<html>')],
    ['JSON of its own', (_req, res) => res.end('{"status":"ok"}')],
    ['a refusal', (_req, res) => res.writeHead(404).end(identity)],
    ['no HTTP', ({ socket }) => socket.end('220 mail.example\r\n')],
    [
      'without end',
      (_req, res) => {
        const more = (): boolean => {
          while (!res.destroyed && res.write(' '.repeat(10_000)));
          return !res.destroyed
        }
        res.on('drain', more)
        more()
      },
    ],
  ]
  for (const [what, listener] of strange) {
    it(`takes for another program what answers ${what}`, async () => {
      await answering(listener)
      expect(await probe.look()).to.include({ kind: 'stranger' })
    })
  }

  it('finds no holder when the connection is cut, truncated or refused', async () => {
    let asked = 0
    await answering(({ socket }, res) => {
      if (++asked === 1) return void socket.destroy()
      res.writeHead(200, { 'Content-Length': 500 })
      res.write('{', () => res.destroy())
    })
    expect(await probe.look()).to.deep.equal({ kind: 'free' })
    expect(await probe.look()).to.deep.equal({ kind: 'free' })
    end()
    expect(await probe.look()).to.deep.equal({ kind: 'free' })
  })

  it('takes a silent one for the gateway that is written down', async () => {
    await listening(createTcpServer(), 50)
    expect(await probe.look()).to.deep.equal({ kind: 'silent', active })
  })
})
