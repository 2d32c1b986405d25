import { expect } from 'chai'
import type { Config } from '../../../src/lib/config/config-file.ts'
import {
  isSameToken,
  savedLogin,
  withLogin,
  withTokens,
  onlyLogin,
  withoutLogin,
  withoutTokens,
} from '../../../src/lib/config/saved-logins.ts'
import { Secret } from '../../../src/lib/util/secret.ts'

const url = 'https://registry.example'
const other = 'https://other.example'
const before: Config = {
  defaultServer: url,
  servers: new Map([
    [
      url,
      {
        login: {
          username: 'alice',
          email: 'alice@x.example',
          accessToken: new Secret('old'),
          accessExpiresAtMs: 1000,
          refreshToken: new Secret('srt_old'),
          refreshExpiresAtMs: 2000,
        },
        caFile: 'ca.pem',
        others: { colour: 'red' },
      },
    ],
    [other, { login: { username: 'bob', accessToken: new Secret('bobs') } }],
  ]),
}

describe('entries of the configuration', () => {
  it('keeps nothing of the login before at a login, but what was set by hand', () => {
    const login = { username: 'carol', accessToken: new Secret('new') }
    const entry = withLogin(before, url, login).servers.get(url)
    expect(entry).to.deep.equal({ login, caFile: 'ca.pem', others: { colour: 'red' } })
  })

  it('makes the first registry the default, and no later one', () => {
    const tokens = { accessToken: new Secret('t') }
    const first = withLogin({ servers: new Map() }, other, tokens)
    expect(first.defaultServer).to.equal(other)
    expect(withLogin(first, url, tokens).defaultServer).to.equal(other)
  })

  it('keeps the refresh token when no new one came', () => {
    const tokens = { accessToken: new Secret('new'), accessExpiresAtMs: 5000 }
    const entry = savedLogin(withTokens(before, url, tokens), url)
    expect(entry?.refreshToken?.reveal()).to.equal('srt_old')
    expect(entry).to.include({ accessExpiresAtMs: 5000, refreshExpiresAtMs: 2000 })
  })

  it('replaces both tokens when both came', () => {
    const tokens = { accessToken: new Secret('new'), refreshToken: new Secret('srt_new') }
    const entry = savedLogin(withTokens(before, url, tokens), url)
    expect(entry?.refreshToken?.reveal()).to.equal('srt_new')
    expect(entry?.refreshExpiresAtMs).to.equal(undefined)
    expect(entry?.accessExpiresAtMs).to.equal(undefined)
  })

  it('clears tokens alone, of one registry alone', () => {
    const after = withoutTokens(before, url)
    expect(after.servers.get(url)).to.deep.equal({
      login: { username: 'alice', email: 'alice@x.example' },
      caFile: 'ca.pem',
      others: { colour: 'red' },
    })
    expect(after.servers.get(other)?.login?.accessToken?.reveal()).to.equal('bobs')
  })

  it('leaves what was set by hand at a logout', () => {
    const after = withoutLogin(before, url)
    const left = { caFile: 'ca.pem', others: { colour: 'red' } }
    expect(after.servers.get(url)).to.deep.equal(left)
    expect(after.defaultServer).to.equal(undefined)
    expect(onlyLogin(after)).to.equal(other)
    const alone = { ...before, servers: new Map([...before.servers].slice(0, 1)) }
    expect(withoutLogin(alone, url).defaultServer).to.equal(url)
  })

  it('names the only login, and none of several', () => {
    expect(onlyLogin(before)).to.equal(undefined)
    expect(onlyLogin(withoutLogin(before, url))).to.equal(other)
    expect(onlyLogin(withoutLogin(withoutLogin(before, url), other))).to.equal(undefined)
  })

  it('finds the login of a user, and not that of another one', () => {
    expect(savedLogin(before, url, 'alice')?.username).to.equal('alice')
    expect(savedLogin(before, url, 'bob')).to.equal(undefined)
  })

  it('removes an entry that holds a login alone, and the default with it', () => {
    const after = withoutLogin({ ...before, defaultServer: other }, other)
    expect(after.servers.has(other)).to.equal(false)
    expect(after.defaultServer).to.equal(undefined)
  })

  it('returns the same object when there is nothing to change', () => {
    expect(withoutLogin(before, 'https://unknown.example')).to.equal(before)
    expect(withoutTokens(before, 'https://unknown.example')).to.equal(before)
  })

  const same: [one: string | undefined, two: string | undefined, equal: boolean][] = [
    ['a', 'a', true],
    ['a', 'b', false],
    ['a', undefined, false],
    [undefined, 'a', false],
    [undefined, undefined, true],
  ]
  for (const [one, two, equal] of same) {
    it(`says ${equal} for the tokens ${one} and ${two}`, () => {
      const secret = (text: string | undefined) => (text === undefined ? text : new Secret(text))
      expect(isSameToken(secret(one), secret(two))).to.equal(equal)
    })
  }
})
