import { expect } from 'chai'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, type Socket, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Secret } from '../../../src/lib/util/secret.ts'
import { makePair, writePair } from '../../helpers/certificate.ts'
import { until } from '../../helpers/until.ts'
import { clientOf, expectNoLeak, sendJson, thrownBy, withServer } from './support.ts'

const token = new Secret('svc_THE-TOKEN-OF-THIS-TEST')
const answerMe = (_: unknown, res: Parameters<typeof sendJson>[0]) =>
  sendJson(res, 200, { username: 'alice', email: 'alice@x.example' })

async function failureOfMe(...args: Parameters<typeof clientOf>) {
  const error = await thrownBy(() => clientOf(...args).me(token))
  return expectNoLeak(error, [token.reveal(), 'hunter2'])
}

interface Proxy {
  readonly url: string
  readonly lines: string[]
}

/** A proxy that leads every CONNECT to `port`, refuses it with `status`, or never answers. */
async function withProxy<T>(
  to: { readonly port: number } | { readonly status: number } | 'silent',
  run: (proxy: Proxy) => Promise<T>,
): Promise<T> {
  const lines: string[] = []
  const sockets = new Set<Socket>()
  const server = createServer((req, res) => {
    lines.push(`${req.method} ${req.url}`)
    res.writeHead(502).end()
  })
  server.on('connection', socket => sockets.add(socket))
  server.on('connect', (req, socket: Socket) => {
    lines.push(`CONNECT ${req.url} ${req.headers['proxy-authorization'] ?? ''}`.trim())
    socket.on('error', () => {})
    if (to === 'silent') return void socket.resume().on('end', () => lines.push('closed'))
    if ('status' in to) return void socket.end(`HTTP/1.1 ${to.status} No\r\n\r\n`)
    const onward = connect(to.port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      socket.pipe(onward).pipe(socket)
    })
    sockets.add(onward)
    onward.on('error', () => socket.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  try {
    return await run({ url: `http://127.0.0.1:${port}`, lines })
  } finally {
    server.close()
    for (const socket of sockets) socket.destroy()
  }
}

describe('registry client, certificates and proxies', () => {
  let folder = ''
  const tls = makePair({ names: ['127.0.0.1', 'registry.invalid'] })
  const caFile = () => join(folder, 'cert.pem')

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'service-cli-tls-'))
    await writePair(folder, tls)
  })
  after(() => rmSync(folder, { recursive: true, force: true }))

  it('refuses a certificate of an unknown authority, and says what to set', () =>
    withServer(
      answerMe,
      async ({ url, requests }) => {
        const failure = await failureOfMe(url)
        expect(failure.code).to.equal('network_failed')
        expect(failure.message).to.include('TLS failed (DEPTH_ZERO_SELF_SIGNED_CERT)')
        expect(failure.hint).to.include('ca_file')
        expect(requests).to.deep.equal([])
      },
      tls,
    ))

  it('trusts the certificates of ca_file', () =>
    withServer(
      answerMe,
      async ({ url }) => {
        expect((await clientOf(url, { caFile: caFile() }).me(token)).username).to.equal('alice')
      },
      tls,
    ))

  it('refuses a certificate for another name', () =>
    withServer(
      answerMe,
      async ({ url }) => {
        const other = url.replace('127.0.0.1', 'localhost')
        const failure = await failureOfMe(other, { caFile: caFile() })
        expect(failure.code).to.equal('network_failed')
        expect(failure.message).to.include('TLS failed (ERR_TLS_CERT_ALTNAME_INVALID)')
      },
      tls,
    ))

  it('names a ca_file that is missing, holds no certificate or has no end', async () => {
    const missing = join(folder, 'missing.pem')
    const first = await failureOfMe('https://registry.invalid', { caFile: missing })
    expect(first.code).to.equal('config_invalid')
    expect(first.message).to.equal(`ca_file ${missing} cannot be read: no such file`)
    const other = join(folder, 'other.pem')
    writeFileSync(other, 'hunter2')
    const second = await failureOfMe('https://registry.invalid', { caFile: other })
    expect(second.message).to.equal(`ca_file ${other} holds no certificate`)
    if (process.platform !== 'linux') return
    const endless = await failureOfMe('https://registry.invalid', { caFile: '/dev/zero' })
    expect(endless.message).to.equal('ca_file /dev/zero cannot be used: it is not a regular file')
  })

  it('goes through HTTPS_PROXY, which sees no token', () =>
    withServer(
      answerMe,
      ({ url, requests }) =>
        withProxy({ port: Number(new URL(url).port) }, async proxy => {
          const env = { HTTPS_PROXY: proxy.url }
          const client = clientOf('https://registry.invalid', { env, caFile: caFile() })
          expect((await client.me(token)).username).to.equal('alice')
          expect(proxy.lines).to.deep.equal(['CONNECT registry.invalid:443'])
          expect(requests[0]?.authorization).to.equal(`Bearer ${token.reveal()}`)
        }),
      tls,
    ))

  it('sends nothing for this machine through a proxy', () =>
    withServer(answerMe, ({ url }) =>
      withProxy({ status: 403 }, async proxy => {
        const env = { HTTP_PROXY: proxy.url, http_proxy: proxy.url, HTTPS_PROXY: proxy.url }
        expect((await clientOf(url, { env }).me(token)).username).to.equal('alice')
        expect(proxy.lines).to.deep.equal([])
      }),
    ))

  it('goes past the proxy where NO_PROXY says so', () =>
    withProxy({ status: 403 }, async proxy => {
      const env = { HTTPS_PROXY: proxy.url, NO_PROXY: 'registry.invalid' }
      const failure = await failureOfMe('https://registry.invalid', { env })
      expect(failure.code).to.equal('network_failed')
      expect(proxy.lines).to.deep.equal([])
    }))

  it('says proxy_failed, without the password of the proxy, when it refuses', () =>
    withProxy({ status: 407 }, async proxy => {
      const env = { HTTPS_PROXY: proxy.url.replace('//', '//alice:hunter2@') }
      const failure = await failureOfMe('https://registry.invalid', { env })
      expect(failure.code).to.equal('proxy_failed')
      expect(failure.hint).to.include(`HTTPS_PROXY (${proxy.url})`)
    }))

  it('says proxy_failed when the proxy cannot be reached', async () => {
    const gone = await withProxy({ status: 403 }, async proxy => proxy.url)
    const failure = await failureOfMe('https://registry.invalid', { env: { HTTPS_PROXY: gone } })
    expect(failure.code).to.equal('proxy_failed')
    expect(failure.message).to.include('ECONNREFUSED')
    const named = { HTTPS_PROXY: 'http://no-such-proxy.invalid:3128' }
    const unknown = await failureOfMe('https://registry.invalid', { env: named })
    expect(unknown.code).to.equal('proxy_failed')
  })

  it('says net_timeout when the proxy does not answer, and leaves no connection', () =>
    withProxy('silent', async proxy => {
      const env = { HTTPS_PROXY: proxy.url }
      for (const times of [{ connectTimeoutMs: 150 }, { requestTimeoutMs: 150 }]) {
        proxy.lines.length = 0
        const limits = { connectTimeoutMs: 1000, ...times }
        const failure = await failureOfMe('https://registry.invalid', { env, limits })
        expect(failure.code).to.equal('net_timeout')
        expect(failure.hint).to.include(`HTTPS_PROXY (${proxy.url})`)
        await until(() => proxy.lines.includes('closed'), 'the connection is closed')
      }
    }))

  for (const value of ['hunter2', 'socks5://x:hunter2@127.0.0.1:1']) {
    it(`says that ${value.replace('hunter2', '…')} is no proxy, and that none was used`, async () => {
      const env = { HTTPS_PROXY: value }
      const failure = await failureOfMe('https://registry.invalid', { env })
      expect(failure.code).to.equal('network_failed')
      expect(failure.hint).to.include('HTTPS_PROXY is no address').and.include('no proxy was used')
    })
  }
})
