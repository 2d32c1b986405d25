import { expect } from 'chai'
import { defaultClientLimits } from '../../../src/lib/accounts/client-limits.ts'
import {
  canRefresh,
  isExpired,
  needsRefresh,
  readJwtExpiry,
} from '../../../src/lib/accounts/refresh-need.ts'
import { parseAccountsUrl } from '../../../src/lib/config/accounts-url.ts'
import { proxyEnv } from '../../../src/lib/util/address.ts'
import { proxyOf } from '../../../src/lib/accounts/proxy.ts'
import { type Attempt, parseRetryAfter, retryDelayMs } from '../../../src/lib/accounts/transport.ts'
import { Secret } from '../../../src/lib/util/secret.ts'

describe('retryDelayMs', () => {
  const answer = (status: number, retryAfterMs: number | null = null) => ({ status, retryAfterMs })
  const cases: [method: string, done: number, attempt: Attempt, delayMs: number | null][] = [
    ['GET', 0, { code: 'network_failed' }, 300],
    ['GET', 1, { code: 'network_failed' }, 600],
    ['GET', 2, { code: 'network_failed' }, null],
    ['GET', 0, { code: 'net_timeout' }, null],
    ['GET', 0, { code: 'proxy_failed' }, null],
    ['GET', 0, answer(200), null],
    ['GET', 0, answer(401), null],
    ['GET', 0, answer(500), null],
    ['GET', 0, answer(502), 300],
    ['GET', 0, answer(503, 7000), 7000],
    ['GET', 1, answer(429, 1000), 1000],
    ['GET', 0, answer(429), 300],
    ['GET', 0, answer(429, 30_000), 30_000],
    ['GET', 0, answer(429, 31_000), null],
    ['GET', 2, answer(429, 1000), null],
    ['POST', 0, { code: 'network_failed' }, null],
    ['POST', 0, answer(503, 0), null],
    ['POST', 0, answer(429, 1000), null],
    ['DELETE', 0, answer(503, 0), null],
  ]
  for (const [method, done, attempt, delayMs] of cases) {
    it(`is ${delayMs} after ${done} repetitions of ${method} and ${JSON.stringify(attempt)}`, () => {
      expect(retryDelayMs(method, done, attempt, defaultClientLimits)).to.equal(delayMs)
    })
  }
})

describe('parseRetryAfter', () => {
  const now = Date.UTC(2026, 10, 22, 10)
  const cases: [value: string | undefined, ms: number | null][] = [
    [undefined, null],
    ['0', 0],
    [' 12 ', 12_000],
    ['Sun, 22 Nov 2026 10:00:05 GMT', 5000],
    ['Sun, 22 Nov 2026 09:00:00 GMT', 0],
    ['-1', null],
    ['1e9', null],
    ['soon', null],
    ['9'.repeat(40), null],
  ]
  for (const [value, ms] of cases) {
    it(`is ${ms} for ${value}`, () => expect(parseRetryAfter(value, now)).to.equal(ms))
  }
})

describe('proxyOf', () => {
  const proxied: [url: string, env: Record<string, string>, address: string | undefined][] = [
    ['https://x.example', { HTTPS_PROXY: 'http://proxy:3128' }, 'http://proxy:3128'],
    ['https://x.example', { https_proxy: 'http://u:p@proxy:3128/' }, 'http://proxy:3128'],
    ['https://x.example', { HTTP_PROXY: 'http://proxy:3128' }, undefined],
    ['https://x.example', { HTTPS_PROXY: '' }, undefined],
    ['http://127.0.0.1:1', { HTTP_PROXY: 'http://proxy:3128' }, undefined],
    ['https://localhost:1', { HTTPS_PROXY: 'http://proxy:3128' }, undefined],
    ['https://x.example', { HTTPS_PROXY: 'not a url' }, 'HTTPS_PROXY'],
  ]
  for (const [url, env, address] of proxied) {
    it(`is ${address} for ${url} with ${JSON.stringify(env)}`, () => {
      const registry = parseAccountsUrl(url)
      expect(registry.ok && proxyOf(registry.value, env)?.address).to.equal(address)
    })
  }

  it('gives an agent the proxy variables alone', () => {
    const env = { HTTPS_PROXY: 'a', no_proxy: 'b', HTTP_PROXY: '', SERVICE_TOKEN: 'secret' }
    expect(proxyEnv(env)).to.deep.equal({ HTTPS_PROXY: 'a', no_proxy: 'b' })
  })
})

describe('readJwtExpiry', () => {
  const jwt = (claims: string) => `e30.${Buffer.from(claims).toString('base64url')}.c2ln`
  const cases: [token: string, ms: number | null][] = [
    [jwt('{"exp":1800000000}'), 1_800_000_000_000],
    [jwt('{"exp":1800000000.5}'), 1_800_000_000_500],
    [jwt('{}'), null],
    [jwt('{"exp":"1800000000"}'), null],
    [jwt('{"exp":-5}'), null],
    [jwt('{"exp":1e308}'), null],
    [jwt('[1]'), null],
    [jwt('not json'), null],
    [jwt(`{"a":${'['.repeat(2000)}${']'.repeat(2000)},"exp":1800000000}`), null],
    ['svc_opaque', null],
    ['a.b', null],
    ['', null],
    [`${'a'.repeat(9000)}.e30.c`, null],
  ]
  for (const [token, ms] of cases) {
    it(`is ${ms} for ${token.slice(0, 40)}`, () => expect(readJwtExpiry(token)).to.equal(ms))
  }
})

describe('needsRefresh', () => {
  const accessToken = new Secret('eyJ')
  const margin = 300_000
  const cases: [what: string, entry: Parameters<typeof needsRefresh>[0], needed: boolean][] = [
    ['much is left', { accessToken, accessExpiresAtMs: 1_300_000 }, false],
    ['little is left', { accessToken, accessExpiresAtMs: 1_299_999 }, true],
    ['nothing is left', { accessToken, accessExpiresAtMs: 1 }, true],
    ['the end is unknown', { accessToken }, false],
    ['there is no token', { accessExpiresAtMs: 1 }, false],
    ['it is a service token', { accessToken: new Secret('svc_1'), accessExpiresAtMs: 1 }, false],
  ]
  for (const [what, entry, needed] of cases) {
    it(`is ${needed} when ${what}`, () => {
      expect(needsRefresh(entry, 1_000_000, margin)).to.equal(needed)
    })
  }

  it('knows what can be refreshed and what is over', () => {
    expect(canRefresh({ accessToken })).to.equal(true)
    expect(canRefresh({})).to.equal(false)
    expect(isExpired({ accessExpiresAtMs: 5 }, 5)).to.equal(true)
    expect(isExpired({ accessExpiresAtMs: 5 }, 4)).to.equal(false)
    expect(isExpired({}, 5)).to.equal(false)
  })
})
