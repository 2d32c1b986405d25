import { expect } from 'chai'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Secret } from '../../../src/lib/util/secret.ts'
import { connectLink } from '../../../src/server/join/connect-link.ts'

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
