import { expect } from 'chai'
import { proxyFor } from '../../../src/lib/util/proxy.ts'

const proxy = 'http://proxy:3128'
const of = (address: string, env: Record<string, string>) => proxyFor(new URL(address), env)

describe('proxyFor', () => {
  const found: [address: string, env: Record<string, string>, variable: string | undefined][] = [
    ['https://x.example', { https_proxy: 'http://u:p%20@proxy:3128/' }, 'https_proxy'],
    ['https://x.example', { HTTPS_PROXY: 'HTTPS://[::1]:3128' }, 'HTTPS_PROXY'],
    ['http://x.example', { HTTP_PROXY: proxy, https_proxy: proxy }, 'HTTP_PROXY'],
    ['https://x.example', { HTTP_PROXY: proxy }, undefined],
    ['https://x.example', { HTTPS_PROXY: '' }, undefined],
    ['https://localhost:1', { HTTPS_PROXY: proxy }, undefined],
    ['http://[::1]:1', { HTTP_PROXY: 'nonsense' }, undefined],
  ]
  for (const [address, env, variable] of found) {
    it(`takes ${variable ?? 'none'} for ${address} with ${JSON.stringify(env)}`, () => {
      expect(of(address, env)?.variable).to.equal(variable)
    })
  }

  const unusable = [
    'http://',
    'http://[::1',
    'http://proxy:99999',
    'http://u:p%zz@proxy:1',
    `${proxy}\n`,
    'socks5://proxy:1080',
    'proxy:3128',
    'http://a b:1',
  ]
  for (const value of unusable) {
    it(`throws config_invalid, naming the variable alone, for ${JSON.stringify(value)}`, () => {
      for (const variable of ['https_proxy', 'HTTPS_PROXY']) {
        expect(() => of('https://x.example', { [variable]: value }))
          .to.throw(`${variable} is not the address of an HTTP proxy`)
          .with.property('code', 'config_invalid')
      }
      expect(of('https://127.0.0.1:1', { HTTPS_PROXY: value })).to.equal(null)
    })
  }

  const excluded: [list: string, address: string, isExcluded: boolean][] = [
    ['*', 'https://x.example', true],
    ['a.example, X.example', 'https://x.example', true],
    ['x.example', 'https://sub.x.example', true],
    ['.x.example', 'https://sub.x.example', true],
    ['*.x.example', 'https://sub.x.example', true],
    ['x.example', 'https://notx.example', false],
    ['x.example:443 y.example', 'https://x.example', true],
    ['x.example:8443', 'https://x.example', false],
    ['10.0.0.0/8', 'https://10.1.2.3', true],
    ['10.0.0.0/8', 'https://11.1.2.3', false],
    ['10.0.0.0/8', 'https://x.example', false],
    ['10.1.2.3:8443', 'https://10.1.2.3:8443', true],
    ['2001:db8::/32', 'https://[2001:db8::1]', true],
    ['[2001:db8::1]', 'https://[2001:db8::1]', true],
    ['2001:db8::/32', 'https://10.1.2.3', false],
  ]
  for (const [list, address, isExcluded] of excluded) {
    it(`goes ${isExcluded ? 'past' : 'through'} the proxy to ${address} with NO_PROXY=${list}`, () => {
      const found = of(address, { HTTPS_PROXY: proxy, NO_PROXY: list })
      expect(found === null).to.equal(isExcluded)
    })
  }
})
