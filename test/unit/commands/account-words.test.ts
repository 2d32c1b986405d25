import { expect } from 'chai'
import { findToken } from '../../../src/commands/account/tokens.ts'
import { type Identity, identityJson, identityText } from '../../../src/commands/account/whoami.ts'
import type { TokenView } from '../../../src/lib/accounts/answers.ts'

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

  it('says who alone when brief, and marks what the registry did not confirm', () => {
    const brief = 'username: alice\nemail:    alice@studio.example'
    expect(identityText(identity, 0, true)).to.equal(brief)
    const unverified = identityText({ ...identity, verified: false }, 0, true)
    expect(unverified).to.contain('alice (saved, not verified)')
  })

  it('says nothing of what is not known', () => {
    const unknown = { email: undefined, team: null, expiresAtMs: undefined }
    const all = { ...identity, ...unknown, loginEndsAtMs: undefined, tokenName: 'ci' }
    const text = identityText(all, 0, false)
    expect(text).to.contain('email:    not known').and.contain('config.toml ("ci")')
    expect(text).not.to.match(/expire|undefined|login:|team:/)
  })
})

describe('identityJson', () => {
  it('always has the same members', () => {
    const { registry, username, email, team, verified, source, scopes } = identity
    const full = identityJson(identity)
    expect(full).to.deep.equal({
      registry,
      username,
      email,
      team,
      verified,
      source,
      source_name: identity.sourceName,
      expires_at: '1970-01-01T03:12:00.000Z',
      refresh_expires_at: '1970-01-03T02:00:00.000Z',
      scopes,
      token_name: null,
    })
    const nothing = { email: undefined, expiresAtMs: undefined, loginEndsAtMs: undefined }
    const bare = identityJson({ ...identity, ...nothing, scopes: undefined })
    expect(bare).to.have.all.keys(Object.keys(full))
    expect(bare).to.include({ email: null, expires_at: null, scopes: null })
  })
})

describe('findToken', () => {
  const times = { expires_at: undefined, last_used_at: undefined }
  const token = (id: string, name: string, created_at?: string): TokenView => {
    return { id, name, scopes: [], created_at, ...times }
  }

  it('finds by id before name, and by a name that one token has', () => {
    const tokens = [token('1', 'ci'), token('2', '1')]
    expect(findToken(tokens, '1').meant.name).to.equal('ci')
    expect(findToken(tokens, 'ci').meant.id).to.equal('1')
  })

  it('finds the newest of a name that several have', () => {
    const { meant, older } = findToken(
      [
        token('a', 'render', '2026-01-02T00:00:00Z'),
        token('b', 'render', '2026-03-01T00:00:00Z'),
        token('c', 'render', '2026-02-01T00:00:00Z'),
      ],
      'render',
    )
    expect([meant, ...older].map(({ id }) => id)).to.deep.equal(['b', 'c', 'a'])
  })

  it('refuses an unknown word without repeating it', () => {
    expect(() => findToken([token('1', 'ci')], 'svc_secret'))
      .to.throw(/^(?!.*svc_secret)/)
      .with.property('code', 'request_refused')
  })
})
