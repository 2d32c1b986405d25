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
  sourceName: '/home/alice/config.toml',
  verified: true,
  expiresAtMs: 3.2 * hour,
  loginEndsAtMs: 50 * hour,
  scopes: ['account', 'read', 'publish'],
  tokenName: undefined,
}

describe('identityText', () => {
  it('says who, where, by which token and until when', () => {
    expect(identityText(identity, 0, false)).to.equal(
      `username: alice
email:    alice@studio.example
team:     fx
registry: https://registry.studio.example
token:    from /home/alice/config.toml, expires in 3 h 12 min
login:    ends in 2 days 2 h`,
    )
  })

  it('says who alone when brief, and marks what the registry did not confirm', () => {
    const brief = 'username: alice\nemail:    alice@studio.example'
    expect(identityText(identity, 0, true)).to.equal(brief)
    const unverified = identityText({ ...identity, verified: false }, 0, true)
    expect(unverified).to.contain('alice (saved, not verified)')
  })

  it('says nothing of what is not known, which is null in JSON', () => {
    const unknown = { email: undefined, team: null, expiresAtMs: undefined, scopes: undefined }
    const bare = { ...identity, ...unknown, loginEndsAtMs: undefined, tokenName: 'ci' }
    const text = identityText(bare, 0, false)
    expect(text).to.contain('email:    not known').and.contain('config.toml ("ci")')
    expect(text).not.to.match(/expire|undefined|login:|team:/)
    expect(identityJson(bare)).to.have.all.keys(Object.keys(identityJson(identity)))
    expect(identityJson(bare)).to.include({ email: null, expires_at: null, scopes: null })
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
    const dates = ['2026-01-02', '2026-03-01', '2026-02-01']
    const tokens = dates.map(date => token(date, 'render', `${date}T00:00:00Z`))
    const { meant, older } = findToken(tokens, 'render')
    const found = [meant, ...older].map(({ id }) => id)
    expect(found).to.deep.equal(['2026-03-01', '2026-02-01', '2026-01-02'])
  })

  it('refuses an unknown word without repeating it', () => {
    expect(() => findToken([token('1', 'ci')], 'svc_secret'))
      .to.throw(/^(?!.*svc_secret)/)
      .with.property('code', 'request_refused')
  })
})
