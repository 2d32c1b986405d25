import { expect } from 'chai'
import { proxyOf } from '../../../src/lib/accounts/proxy.ts'
import { readJwtExpiry } from '../../../src/lib/accounts/refresh-need.ts'
import { selectAccountsServer } from '../../../src/lib/accounts/select-server.ts'
import { parseRetryAfter } from '../../../src/lib/accounts/transport.ts'
import { parseAccountsUrl } from '../../../src/lib/config/accounts-url.ts'
import { proxyEnv } from '../../../src/lib/util/net.ts'

describe('parseRetryAfter', () => {
  const now = Date.UTC(2026, 10, 22, 10)
  const cases: [value: string | undefined, ms: number | null][] = [
    [undefined, null],
    [' 12 ', 12_000],
    ['Sun, 22 Nov 2026 10:00:05 GMT', 5000],
    ['Sun, 22 Nov 2026 09:00:00 GMT', 0],
    ['-1', null],
    ['soon', null],
  ]
  for (const [value, ms] of cases) {
    it(`is ${ms} for ${value}`, () => expect(parseRetryAfter(value, now)).to.equal(ms))
  }
})

describe('proxyOf', () => {
  const proxied: [url: string, env: Record<string, string>, address: string | undefined][] = [
    ['https://x.example', { https_proxy: 'http://u:p@proxy:3128/' }, 'http://proxy:3128'],
    ['https://x.example', { HTTP_PROXY: 'http://proxy:3128' }, undefined],
    ['https://x.example', { HTTPS_PROXY: '' }, undefined],
    ['https://localhost:1', { HTTPS_PROXY: 'http://proxy:3128' }, undefined],
    ['https://x.example', { HTTPS_PROXY: 'not a url' }, 'HTTPS_PROXY'],
  ]
  for (const [url, env, address] of proxied) {
    it(`is ${address} for ${url} with ${JSON.stringify(env)}`, () => {
      const server = parseAccountsUrl(url)
      expect(server.ok && proxyOf(server.value, env)?.address).to.equal(address)
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
    [jwt('{"exp":1800000000.5}'), 1_800_000_000_500],
    [jwt('{"exp":"1800000000"}'), null],
    [jwt('{"exp":-5}'), null],
    [jwt('{"exp":1e308}'), null],
    [jwt('[1]'), null],
    [jwt('not json'), null],
    ['svc_opaque', null],
    [`${'a'.repeat(9000)}.e30.c`, null],
  ]
  for (const [token, ms] of cases) {
    it(`is ${ms} for ${token.slice(0, 40)}`, () => expect(readJwtExpiry(token)).to.equal(ms))
  }
})

describe('selectAccountsServer', () => {
  const option = 'https://option.example'
  const variable = 'https://variable.example'
  const file = 'https://file.example'
  const onlyLogin = 'https://only.example'
  const builtIn = 'http://127.0.0.1:8780'
  type Given = Omit<Partial<Parameters<typeof selectAccountsServer>[0]>, 'filePath'>
  const cases: [given: Given, url: string][] = [
    [{ option, variable, file, onlyLogin }, option],
    [{ option: '', variable, file, onlyLogin }, variable],
    [{ variable: '  ', file, onlyLogin }, file],
    [{ onlyLogin }, onlyLogin],
    [{}, builtIn],
  ]
  for (const [given, url] of cases) {
    it(`takes ${url} of ${JSON.stringify(given)}`, () => {
      const absent = { option: undefined, variable: undefined, file: undefined }
      const choice = selectAccountsServer({ ...absent, ...given, filePath: '/c.toml' })
      expect(choice.url).to.equal(url)
    })
  }
})
