import { expect } from 'chai'
import { Secret } from '../../../src/lib/util/secret.ts'
import { makePair, trust } from '../../helpers/certificate.ts'
import { clientOf, expectNoLeak, sendJson, thrownBy, startAnswering } from './support.ts'
import { startProxy } from '../../helpers/connect-proxy.ts'

const token = new Secret('svc_THE-TOKEN-OF-THIS-TEST')
const target = 'https://registry.invalid'
const answerMe = (_: unknown, res: Parameters<typeof sendJson>[0]) =>
  sendJson(res, 200, { username: 'alice' })

async function failureOfMe(...args: Parameters<typeof clientOf>) {
  const error = await thrownBy(async () => clientOf(...args).me(token))
  return expectNoLeak(error, [token.reveal(), 'hunter2'])
}

describe('the client of an accounts server, its certificates and proxies', () => {
  const tls = makePair({ names: ['127.0.0.1', 'registry.invalid'] })

  it('refuses a certificate of an unknown authority, and says what to set', async () => {
    const { url, requests } = await startAnswering(answerMe, tls)
    const failure = await failureOfMe(url)
    expect(failure.code).to.equal('network_failed')
    expect(failure.message).to.include('TLS failed (DEPTH_ZERO_SELF_SIGNED_CERT)')
    expect(failure.hint).to.include('NODE_EXTRA_CA_CERTS')
    expect(requests).to.deep.equal([])
  })

  it('goes through HTTPS_PROXY, which sees no token', async () => {
    const { url, requests } = await startAnswering(answerMe, tls)
    const proxy = await startProxy({ port: Number(new URL(url).port) })
    const client = clientOf(target, { HTTPS_PROXY: proxy.url })
    trust(tls)
    expect((await client.me(token)).username).to.equal('alice')
    expect(proxy.lines).to.deep.equal(['CONNECT registry.invalid:443'])
    expect(requests[0]?.authorization).to.equal(`Bearer ${token.reveal()}`)
  })

  it('sends nothing for this machine, and for a host of NO_PROXY, through a proxy', async () => {
    const { url } = await startAnswering(answerMe)
    const proxy = await startProxy({ status: 403 })
    const env = { HTTP_PROXY: proxy.url, http_proxy: proxy.url, HTTPS_PROXY: proxy.url }
    expect((await clientOf(url, env).me(token)).username).to.equal('alice')
    const direct = await failureOfMe(target, { ...env, NO_PROXY: '.invalid' })
    expect(direct.code).to.equal('network_failed')
    expect(proxy.lines).to.deep.equal([])
  })

  it('names the proxy, without its password, when it refuses', async () => {
    const proxy = await startProxy({ status: 407 })
    const env = { HTTPS_PROXY: proxy.url.replace('//', '//alice:hunter2@') }
    const failure = await failureOfMe(target, env)
    expect(failure.code).to.equal('network_failed')
    expect(failure.message).to.include(`through HTTPS_PROXY (${proxy.url})`)
  })

  it('names the proxy when it does not answer', async () => {
    const proxy = await startProxy('silent')
    const failure = await failureOfMe(target, { HTTPS_PROXY: proxy.url }, 300)
    expect(failure.message).to.include('HTTPS_PROXY').and.include('it made no connection')
  })
})
