import { expect } from 'chai'
import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { hostRequest } from '../../../../src/lib/mcp/client/host-request.ts'
import type { ServiceError } from '../../../../src/lib/util/errors.ts'
import { silentLogger } from '../../../../src/lib/util/logger.ts'
import { Secret } from '../../../../src/lib/util/secret.ts'

describe('hostRequest', () => {
  const servers: Server[] = []
  let host = ''

  afterEach(() => {
    for (const server of servers.splice(0)) server.close(() => {}).closeAllConnections()
  })

  async function ask(
    listener: RequestListener,
    silenceMs = 60_000,
    secret = 't'.repeat(32),
  ): Promise<unknown> {
    const server = createServer(listener).listen(0, '127.0.0.1')
    servers.push(server)
    await once(server, 'listening')
    host = `127.0.0.1:${(server.address() as AddressInfo).port}`
    const token = new Secret(secret)
    const target = { url: new URL(`http://${host}/host`), token, log: silentLogger }
    const signal = new AbortController().signal
    return hostRequest(target, { method: 'POST', path: 'v1/x', silenceMs, signal })
  }
  const failure = async (...of: Parameters<typeof ask>): Promise<ServiceError> =>
    ask(...of).then(
      () => expect.fail('answered'),
      (error: ServiceError) => error,
    )

  it('returns the object of the answer', async () => {
    expect(await ask((_, res) => res.end('{"a":1}'))).to.deep.equal({ a: 1 })
  })

  it('rejects an answer that is too large', async () => {
    const text = JSON.stringify({ sha256: 'f', padding: ' '.repeat(16 * 1024 * 1024) })
    const { code, message } = await failure((_, res) => res.end(text))
    expect([code, message]).to.deep.equal([
      'network_failed',
      `the answer of ${host} is larger than 16777216 bytes`,
    ])
  })

  for (const [when, listener] of [
    ['before the answer', () => {}],
    ['within the answer', (_, res) => res.write('{')],
  ] satisfies [string, RequestListener][]) {
    it(`names time-out and address when the server stops ${when}`, async () => {
      const { code, message } = await failure(listener, 50)
      expect([code, message]).to.deep.equal(['net_timeout', `no answer from ${host} within 0.05 s`])
    })
  }

  it('names status and address when the server fails without details', async () => {
    const { code, message } = await failure((_, res) => res.writeHead(502).end('<html>'))
    expect([code, message]).to.deep.equal(['storage_failed', `${host} failed with HTTP 502`])
  })

  it('fails when the server answers with another protocol', async () => {
    const { code } = await failure(({ socket }) => {
      socket.end('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n')
    })
    expect(code).to.equal('network_failed')
  })

  it('hides a token that the server repeats', async () => {
    const echo: RequestListener = ({ headers }, res) => {
      const sent = headers.authorization
      res.writeHead(401).end(JSON.stringify({ detail: `not ${sent}`, hint: sent }))
    }
    const { message } = await failure(echo)
    expect(message).to.equal('the server does not accept the host token: not Bearer [secret]')
  })

  it('hides a token in a successful answer, except one that may be a word', async () => {
    for (const [secret, name] of [
      ['t'.repeat(32), '[secret]'],
      ['17', '17'],
    ] as const) {
      const echo: RequestListener = ({ headers }, res) => {
        const sent = headers.authorization?.replace('Bearer ', '')
        res.end(JSON.stringify({ name: sent, objects: 17 }))
      }
      expect(await ask(echo, 60_000, secret)).to.deep.equal({ name, objects: 17 })
    }
  })

  it('repeats the details of a server that fails', async () => {
    const { message } = await failure((_, res) => res.writeHead(507).end('{"detail":"disk full"}'))
    expect(message).to.equal('the server failed: disk full')
  })
})
