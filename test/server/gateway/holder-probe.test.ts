import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net'
import { expect } from 'chai'
import { createHolderProbe, type HolderProbe } from '../../../src/server/gateway/holder-probe.ts'
import { activeGatewayJson } from '../../../src/server/gateway/active-gateway.ts'
import { makePair, type Pair } from '../../helpers/certificate.ts'
import { makeActiveGateway } from '../../unit/gateway/active-gateways.ts'

const active = makeActiveGateway()

describe('a probe of the port holder', () => {
  let end = () => {}
  let probe: HolderProbe
  afterEach(() => {
    probe.close()
    end()
  })

  async function listening(
    listener: RequestListener,
    timeoutMs?: number,
    pair?: Pair,
  ): Promise<void> {
    const made = pair === undefined ? createServer(listener) : createSecureServer(pair, listener)
    const server = made.listen(0, '127.0.0.1')
    await once(server, 'listening')
    end = () => {
      server.closeAllConnections()
      server.close()
    }
    aim((server.address() as AddressInfo).port, timeoutMs)
  }

  function aim(port: number, timeoutMs = 5000): void {
    const written = () => Promise.resolve(active)
    const gatewayPid = () => Promise.reject(new Error('only asked without a record'))
    probe = createHolderProbe({ base: `http://127.0.0.1:${port}`, timeoutMs, written, gatewayPid })
  }

  it('knows a gateway, asks for no more than who it is, and keeps its connection', async () => {
    const sockets = new Set<Socket>()
    const paths = new Set<string>()
    await listening((req, res) => {
      sockets.add(req.socket)
      paths.add(`${req.method} ${req.url}`)
      res.end(JSON.stringify(activeGatewayJson(active)))
    })
    for (let look = 0; look < 3; look++) {
      expect(await probe.look()).to.deep.equal({ kind: 'gateway', active })
    }
    expect(sockets.size).to.equal(1)
    expect([...paths]).to.deep.equal(['GET /gateway/v1/resident'])
  })

  it('finds a gateway with TLS, whatever its certificate, and keeps its connection', async () => {
    const sockets = new Set<Socket>()
    const pair = makePair({ names: ['studio.example'], until: new Date(0) })
    await listening(
      (req, res) => {
        sockets.add(req.socket)
        res.end(JSON.stringify(activeGatewayJson(active)))
      },
      undefined,
      pair,
    )
    for (let look = 0; look < 3; look++) {
      expect(await probe.look()).to.deep.equal({ kind: 'gateway', active })
    }
    expect(sockets.size).to.equal(1)
    for (const socket of sockets) socket.destroy()
    await probe.lost()
  })

  it('notices when a gateway lets go', async () => {
    const sockets: Socket[] = []
    await listening((req, res) => {
      sockets.push(req.socket)
      res.end(JSON.stringify(activeGatewayJson(active)))
    })
    await probe.look()
    await probe.look()
    const lost = probe.lost()
    sockets[0]?.destroy()
    await lost
  })

  const strange: [string, RequestListener][] = [
    ['a page', (_req, res) => res.end('<html>')],
    ['JSON of its own', (_req, res) => res.end('{"status":"ok"}')],
    ['a refusal', (_req, res) => res.writeHead(404).end(JSON.stringify(activeGatewayJson(active)))],
    ['more than a gateway would', (_req, res) => res.end(' '.repeat(100_000))],
    ['no HTTP', ({ socket }) => socket.end('220 mail.example\r\n')],
  ]
  for (const [what, listener] of strange) {
    it(`takes for a stranger who answers ${what}`, async () => {
      await listening(listener)
      expect(await probe.look()).to.include({ kind: 'stranger' })
    })
  }

  it('does not listen to one that never ends', async () => {
    await listening((_req, res) => {
      const more = (): boolean => {
        while (!res.destroyed && res.write(' '.repeat(10_000)));
        return !res.destroyed
      }
      res.on('drain', more)
      more()
    })
    expect(await probe.look()).to.include({ kind: 'stranger' })
  })

  it('finds no holder when the connection is cut or refused', async () => {
    await listening(({ socket }) => socket.destroy())
    expect(await probe.look()).to.deep.equal({ kind: 'free' })
    end()
    expect(await probe.look()).to.deep.equal({ kind: 'free' })
  })

  it('finds no holder when the answer is truncated', async () => {
    await listening((_req, res) => {
      res.writeHead(200, { 'Content-Length': 500 })
      res.write('{', () => res.destroy())
    })
    expect(await probe.look()).to.deep.equal({ kind: 'free' })
  })

  it('takes a silent one for who it wrote that it is', async () => {
    const taken: Socket[] = []
    const server = createTcpServer(socket => taken.push(socket)).listen(0, '127.0.0.1')
    await once(server, 'listening')
    end = () => {
      for (const socket of taken) socket.destroy()
      server.close()
    }
    aim((server.address() as AddressInfo).port, 50)
    expect(await probe.look()).to.deep.equal({ kind: 'silent', active, pid: null })
  })

  it('does not wait for one that answers in drops', async () => {
    let timer: NodeJS.Timeout | undefined
    await listening((_req, res) => {
      res.writeHead(200)
      timer = setInterval(() => res.write(' '), 5)
    }, 100)
    expect(await probe.look()).to.deep.equal({ kind: 'silent', active, pid: null })
    clearInterval(timer)
  })
})
