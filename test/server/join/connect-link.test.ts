import { expect } from 'chai'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { type AddressInfo, connect } from 'node:net'
import tls from 'node:tls'
import { messageOf } from '../../../src/lib/util/errors.ts'
import { Secret } from '../../../src/lib/util/secret.ts'
import { connectLink } from '../../../src/server/join/connect-link.ts'
import { makePair } from '../../helpers/certificate.ts'
import { withEnv } from '../../helpers/in-process.ts'
import { cleanEnv } from '../../helpers/program.ts'
import { acceptLinks } from '../../helpers/join.ts'

const portOf = (server: Server) => (server.address() as AddressInfo).port

async function listening(server: Server): Promise<Server> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}

/** Why the link cannot be opened; one that is opened is closed. */
async function outcomeOf(gateway: string, address?: string): Promise<string> {
  const attempt = connectLink({
    gateway,
    address,
    token: new Secret('svc_a-token-of-an-instance'),
    instanceId: randomUUID(),
    received: () => {},
    signal: new AbortController().signal,
  })
  try {
    ;(await attempt).close(1001, 'the instance stops')
    return opened
  } catch (error) {
    return messageOf(error)
  }
}
const opened = 'it was opened'

describe('a link that a gateway refuses', () => {
  const answers = [
    ['403 Forbidden\r\n\r\n{"detail": "its id is taken"}', 'HTTP 403: its id is taken'],
    ['503 Service Unavailable\r\n\r\nno JSON', 'HTTP 503'],
  ] as const
  for (const [answer, reason] of answers) {
    it(`says ${reason}`, async () => {
      const gateway = createServer().on('upgrade', (_req, socket) => {
        socket.end(`HTTP/1.1 ${answer}`)
      })
      await listening(gateway)
      const outcome = await outcomeOf(`http://127.0.0.1:${portOf(gateway)}`)
      expect(outcome).to.equal(`it answers with ${reason}`)
      gateway.close()
    })
  }

  it('says that nothing listens there', async () => {
    const gateway = await listening(createServer())
    const port = portOf(gateway)
    gateway.close()
    expect(await outcomeOf(`http://127.0.0.1:${port}`)).to.include('ECONNREFUSED')
  })
})

describe('a link over TLS', () => {
  const pair = makePair({ names: ['gateways.test', 'localhost'] })
  const trusted = tls.getCACertificates('default')
  let server: Server
  let joined: readonly unknown[]

  before(async () => {
    server = await listening(createSecureServer(pair) as unknown as Server)
    joined = acceptLinks(server).joined
  })
  after(() => server.close())
  afterEach(() => tls.setDefaultCACertificates(trusted))

  const trust = () => tls.setDefaultCACertificates([...trusted, pair.cert])
  const at = (name: string) => `https://${name}:${portOf(server)}`

  it('is opened when the certificate is trusted and for the name, and for no other name', async () => {
    expect(await outcomeOf(at('gateways.test'), '127.0.0.1')).to.include(
      'TLS failed (DEPTH_ZERO_SELF_SIGNED_CERT)',
    )
    trust()
    expect(await outcomeOf(at('gateways.test'), '127.0.0.1')).to.equal(opened)
    expect(await outcomeOf(at('other.test'), '127.0.0.1')).to.include(
      'ERR_TLS_CERT_ALTNAME_INVALID',
    )
    expect(joined).to.have.length(1)
  })

  describe('with a proxy in the environment', () => {
    let proxy: Server
    let asked: string[]

    beforeEach(async () => {
      asked = []
      proxy = await listening(createServer())
      proxy.on('connect', (req, socket) => {
        asked.push(req.url ?? '')
        const passed = connect(portOf(server), '127.0.0.1', () => {
          socket.write('HTTP/1.1 200 OK\r\n\r\n')
          passed.pipe(socket).pipe(passed)
        })
        for (const end of [passed, socket]) end.on('error', () => {})
      })
    })
    afterEach(() => {
      proxy.closeAllConnections()
      proxy.close()
    })

    const outcomeBehind = (name: string, more = {}) =>
      withEnv(cleanEnv({ HTTPS_PROXY: `http://127.0.0.1:${portOf(proxy)}`, ...more }), () =>
        outcomeOf(at(name)),
      )

    it('goes through it to another machine, and checks the certificate behind it', async () => {
      expect(await outcomeBehind('gateways.test')).to.include('TLS failed')
      trust()
      expect(await outcomeBehind('gateways.test')).to.equal(opened)
      const { host } = new URL(at('gateways.test'))
      expect(asked).to.deep.equal([host, host])
    })

    it('does not use it for this machine, nor for a name of NO_PROXY', async () => {
      trust()
      expect(await outcomeBehind('localhost')).to.equal(opened)
      expect(await outcomeBehind('gateways.test', { NO_PROXY: 'gateways.test' })).to.include(
        'cannot resolve',
      )
      expect(asked).to.deep.equal([])
    })
  })
})
