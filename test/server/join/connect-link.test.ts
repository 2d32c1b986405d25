import { expect } from 'chai'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import tls from 'node:tls'
import { Secret } from '../../../src/lib/util/secret.ts'
import { connectLink } from '../../../src/server/join/connect-link.ts'
import { makePair } from '../../helpers/certificate.ts'
import { acceptLinks } from '../../helpers/scripted-gateway.ts'

describe('a link that a gateway refuses', () => {
  it('says why, without the token that the gateway repeats', async () => {
    const token = 'svc_a-token-of-an-instance'
    const gateway = createServer().on('upgrade', ({ headers }, socket) => {
      const detail = `no instance has ${headers.authorization}`
      socket.end(`HTTP/1.1 403 Forbidden\r\n\r\n${JSON.stringify({ detail })}`)
    })
    gateway.listen(0, '127.0.0.1')
    await once(gateway, 'listening')
    try {
      const { reason } = await connectLink({
        gateway: `http://127.0.0.1:${(gateway.address() as AddressInfo).port}`,
        token: new Secret(token),
        limits: { joinPingMs: 5000, joinSilenceMs: 15_000, maxJoinMessageBytes: 1024 * 1024 },
        opened: () => {},
        signal: new AbortController().signal,
      })
      expect(reason).to.equal('it answers with HTTP 403: no instance has Bearer [secret]')
    } finally {
      gateway.close()
    }
  })
})

describe('a link to one address of a name', () => {
  const pair = makePair({ names: ['gateways.test'] })
  const trusted = tls.getCACertificates('default')
  before(() => tls.setDefaultCACertificates([...trusted, pair.cert]))
  after(() => tls.setDefaultCACertificates(trusted))

  it('is opened when the certificate is for the name, and for no other name', async () => {
    const server = createSecureServer(pair) as unknown as Server
    const { joined } = acceptLinks(server)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const connect = (name: string) => {
      const stop = new AbortController()
      return connectLink({
        gateway: `https://${name}:${(server.address() as AddressInfo).port}`,
        address: '127.0.0.1',
        token: new Secret('svc_token'),
        limits: { joinPingMs: 5000, joinSilenceMs: 15_000, maxJoinMessageBytes: 1024 * 1024 },
        opened: () => stop.abort(),
        signal: stop.signal,
      })
    }
    try {
      expect((await connect('gateways.test')).reason).to.equal('the instance stops')
      expect((await connect('other.test')).reason).to.include('ERR_TLS_CERT_ALTNAME_INVALID')
      expect(joined).to.have.length(1)
    } finally {
      server.close()
    }
  })
})
