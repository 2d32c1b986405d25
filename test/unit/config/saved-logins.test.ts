import { expect } from 'chai'
import type { Config } from '../../../src/lib/config/config-file.ts'
import {
  isSameToken,
  savedLogin,
  withLogin,
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

  it('leaves what was set by hand at a logout', () => {
    const after = withoutLogin(before, url)
    const left = { caFile: 'ca.pem', others: { colour: 'red' } }
    expect(after.servers.get(url)).to.deep.equal(left)
    expect(after.defaultServer).to.equal(undefined)
    expect(onlyLogin(after)).to.equal(other)
    const alone = { ...before, servers: new Map([...before.servers].slice(0, 1)) }
    expect(withoutLogin(alone, url).defaultServer).to.equal(url)
  })

  it('finds the login of a user, and not that of another one', () => {
    expect(savedLogin(before, url, 'alice')?.username).to.equal('alice')
    expect(savedLogin(before, url, 'bob')).to.equal(undefined)
    expect(isSameToken(undefined, new Secret('old'))).to.equal(false)
    const unknown = 'https://unknown.example'
    for (const change of [withoutTokens, withoutLogin]) {
      expect(change(before, unknown)).to.equal(before)
    }
  })

  it('removes an entry that holds a login alone, and the default with it', () => {
    const after = withoutLogin({ ...before, defaultServer: other }, other)
    expect(after.servers.has(other)).to.equal(false)
    expect(after.defaultServer).to.equal(undefined)
  })
})
