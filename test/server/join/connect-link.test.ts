import { expect } from 'chai'
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { messageOf } from '../../../src/lib/util/errors.ts'
import { Secret } from '../../../src/lib/util/secret.ts'
import { connectLink } from '../../../src/server/join/connect-link.ts'
import { makePair, trust } from '../../helpers/certificate.ts'
import { startProxy } from '../../helpers/connect-proxy.ts'
import { freePort } from '../../helpers/free-port.ts'
import { withEnv } from '../../helpers/in-process.ts'
import { cleanEnv } from '../../helpers/program.ts'
import { acceptLinks } from '../../helpers/join.ts'
import { listening } from '../../helpers/listening.ts'

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
      const outcome = await outcomeOf(`http://127.0.0.1:${await listening(gateway)}`)
      expect(outcome).to.equal(`it answers with ${reason}`)
    })
  }

  it('says that nothing listens there', async () => {
    expect(await outcomeOf(`http://127.0.0.1:${await freePort()}`)).to.include('ECONNREFUSED')
  })
})

describe('a link over TLS', () => {
  const pair = makePair({ names: ['gateways.test', 'localhost'] })
  let port: number
  let joined: readonly unknown[]

  before(async () => {
    const server = createSecureServer(pair)
    joined = acceptLinks(server).joined
    port = await listening(server)
  })

  const at = (name: string) => `https://${name}:${port}`

  it('is opened when the certificate is trusted and for the name, and for no other name', async () => {
    expect(await outcomeOf(at('gateways.test'), '127.0.0.1')).to.include(
      'TLS failed (DEPTH_ZERO_SELF_SIGNED_CERT)',
    )
    trust(pair)
    expect(await outcomeOf(at('gateways.test'), '127.0.0.1')).to.equal(opened)
    expect(await outcomeOf(at('other.test'), '127.0.0.1')).to.include(
      'ERR_TLS_CERT_ALTNAME_INVALID',
    )
    expect(joined).to.have.length(1)
  })

  describe('with a proxy in the environment', () => {
    let proxy: Awaited<ReturnType<typeof startProxy>>
    beforeEach(async () => (proxy = await startProxy({ port })))

    const outcomeBehind = (name: string, more = {}) =>
      withEnv(cleanEnv({ HTTPS_PROXY: proxy.url, ...more }), () => outcomeOf(at(name)))

    it('goes through it to another machine, and checks the certificate behind it', async () => {
      expect(await outcomeBehind('gateways.test')).to.include('TLS failed')
      trust(pair)
      expect(await outcomeBehind('gateways.test')).to.equal(opened)
      const { host } = new URL(at('gateways.test'))
      expect(proxy.lines).to.deep.equal([`CONNECT ${host}`, `CONNECT ${host}`])
    })

    it('does not use it for this machine, nor for a name of NO_PROXY', async () => {
      trust(pair)
      expect(await outcomeBehind('localhost')).to.equal(opened)
      expect(await outcomeBehind('gateways.test', { NO_PROXY: 'gateways.test' })).to.include(
        'cannot resolve',
      )
      expect(proxy.lines).to.deep.equal([])
    })
  })
})
