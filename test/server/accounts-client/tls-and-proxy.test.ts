import { expect } from 'chai'
import { createServer } from 'node:http'
import { type Socket, connect } from 'node:net'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { Secret } from '../../../src/lib/util/secret.ts'
import { makePair } from '../../helpers/certificate.ts'
import { clientOf, expectNoLeak, sendJson, thrownBy, withServer } from './support.ts'
import { listening } from '../../helpers/listening.ts'

const token = new Secret('svc_THE-TOKEN-OF-THIS-TEST')
const target = 'https://registry.invalid'
const answerMe = (_: unknown, res: Parameters<typeof sendJson>[0]) =>
  sendJson(res, 200, { username: 'alice' })

async function failureOfMe(...args: Parameters<typeof clientOf>) {
  const error = await thrownBy(async () => clientOf(...args).me(token))
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
    lines.push(`CONNECT ${req.url}`)
    socket.on('error', () => {})
    if (to === 'silent') return
    if ('status' in to) return void socket.end(`HTTP/1.1 ${to.status} No\r\n\r\n`)
    const onward = connect(to.port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      socket.pipe(onward).pipe(socket)
    })
    sockets.add(onward)
    onward.on('error', () => socket.destroy())
  })
  const port = await listening(server)
  try {
    return await run({ url: `http://127.0.0.1:${port}`, lines })
  } finally {
    server.close()
    for (const socket of sockets) socket.destroy()
  }
}

describe('the client of an accounts server, its certificates and proxies', () => {
  const tls = makePair({ names: ['127.0.0.1', 'registry.invalid'] })
  const usual = getCACertificates('default')
  const trusting = async (run: () => Promise<unknown>) => {
    setDefaultCACertificates([...usual, tls.cert])
    try {
      await run()
    } finally {
      setDefaultCACertificates(usual)
    }
  }

  it('refuses a certificate of an unknown authority, and says what to set', () =>
    withServer(
      answerMe,
      async ({ url, requests }) => {
        const failure = await failureOfMe(url)
        expect(failure.code).to.equal('network_failed')
        expect(failure.message).to.include('TLS failed (DEPTH_ZERO_SELF_SIGNED_CERT)')
        expect(failure.hint).to.include('NODE_EXTRA_CA_CERTS')
        expect(requests).to.deep.equal([])
      },
      tls,
    ))

  it('goes through HTTPS_PROXY, which sees no token', () =>
    withServer(
      answerMe,
      ({ url, requests }) =>
        withProxy({ port: Number(new URL(url).port) }, async proxy => {
          const client = clientOf(target, { HTTPS_PROXY: proxy.url })
          await trusting(async () => expect((await client.me(token)).username).to.equal('alice'))
          expect(proxy.lines).to.deep.equal(['CONNECT registry.invalid:443'])
          expect(requests[0]?.authorization).to.equal(`Bearer ${token.reveal()}`)
        }),
      tls,
    ))

  it('sends nothing for this machine, and for a host of NO_PROXY, through a proxy', () =>
    withServer(answerMe, ({ url }) =>
      withProxy({ status: 403 }, async proxy => {
        const env = { HTTP_PROXY: proxy.url, http_proxy: proxy.url, HTTPS_PROXY: proxy.url }
        expect((await clientOf(url, env).me(token)).username).to.equal('alice')
        const direct = await failureOfMe(target, { ...env, NO_PROXY: '.invalid' })
        expect(direct.code).to.equal('network_failed')
        expect(proxy.lines).to.deep.equal([])
      }),
    ))

  it('names the proxy, without its password, when it refuses', () =>
    withProxy({ status: 407 }, async proxy => {
      const env = { HTTPS_PROXY: proxy.url.replace('//', '//alice:hunter2@') }
      const failure = await failureOfMe(target, env)
      expect(failure.code).to.equal('network_failed')
      expect(failure.message).to.include(`through HTTPS_PROXY (${proxy.url})`)
    }))

  it('names the proxy when it does not answer', () =>
    withProxy('silent', async proxy => {
      const failure = await failureOfMe(target, { HTTPS_PROXY: proxy.url }, 300)
      expect(failure.message).to.include('HTTPS_PROXY').and.include('it made no connection')
    }))
})
