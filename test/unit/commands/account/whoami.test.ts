import { expect } from 'chai'
import {
  type Identity,
  identityJson,
  identityText,
} from '../../../../src/commands/account/whoami.ts'

const hour = 3_600_000
const identity: Identity = {
  registry: 'https://registry.studio.example',
  username: 'alice',
  email: 'alice@studio.example',
  team: 'fx',
  source: 'config',
  sourceName: '/home/alice/.config/service-cli/config.toml',
  verified: true,
  expiresAtMs: 3.2 * hour,
  loginEndsAtMs: 50 * hour,
  scopes: ['account', 'read', 'publish'],
  tokenName: undefined,
}

describe('identityText', () => {
  it('says who, where, by which token and until when', () => {
    expect(identityText(identity, 0, false).split('\n')).to.deep.equal([
      'username: alice',
      'email:    alice@studio.example',
      'team:     fx',
      'registry: https://registry.studio.example',
      'token:    from /home/alice/.config/service-cli/config.toml, expires in 3 h 12 min',
      'login:    ends in 2 days 2 h',
    ])
  })

  it('says who alone when brief', () => {
    expect(identityText(identity, 0, true)).to.equal(
      'username: alice\nemail:    alice@studio.example',
    )
  })

  it('marks what the registry did not confirm', () => {
    expect(identityText({ ...identity, verified: false }, 0, true)).to.contain(
      'alice (saved, not verified)',
    )
  })

  it('says nothing of what is not known', () => {
    const unknown = { ...identity, email: undefined, team: null, expiresAtMs: undefined }
    const text = identityText({ ...unknown, loginEndsAtMs: undefined, tokenName: 'ci' }, 0, false)
    expect(text).to.contain('email:    not known').and.contain('config.toml ("ci")')
    expect(text).not.to.match(/expire|undefined|login:|team:/)
  })
})

describe('identityJson', () => {
  it('always has the same members', () => {
    const full = identityJson(identity)
    expect(full).to.deep.equal({
      registry: 'https://registry.studio.example',
      username: 'alice',
      email: 'alice@studio.example',
      team: 'fx',
      verified: true,
      source: 'config',
      source_name: '/home/alice/.config/service-cli/config.toml',
      expires_at: '1970-01-01T03:12:00.000Z',
      refresh_expires_at: '1970-01-03T02:00:00.000Z',
      scopes: ['account', 'read', 'publish'],
      token_name: null,
    })
    const nothing = { email: undefined, expiresAtMs: undefined, loginEndsAtMs: undefined }
    const bare = identityJson({ ...identity, ...nothing, scopes: undefined })
    expect(bare).to.have.all.keys(Object.keys(full))
    expect(bare).to.include({ email: null, expires_at: null, scopes: null })
  })
})
