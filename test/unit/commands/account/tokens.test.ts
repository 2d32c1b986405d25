import { expect } from 'chai'
import { findToken } from '../../../../src/commands/account/tokens.ts'
import type { TokenView } from '../../../../src/lib/accounts/answers.ts'

const times = { created_at: undefined, expires_at: undefined, last_used_at: undefined }
const token = (id: string, name: string): TokenView => ({ id, name, scopes: [], ...times })
const tokens = [token('1', 'ci'), token('2', 'render'), token('3', 'render'), token('4', '1')]

describe('findToken', () => {
  it('finds by id before name', () => {
    expect(findToken(tokens, '1').meant.name).to.equal('ci')
  })

  it('finds by a name that one token has', () => {
    expect(findToken(tokens, 'ci').meant.id).to.equal('1')
  })

  it('finds the newest of a name that several have', () => {
    const at = (id: string, created_at: string) => ({ ...token(id, 'render'), created_at })
    const several = [
      at('a', '2026-01-02T00:00:00Z'),
      at('b', '2026-03-01T00:00:00Z'),
      at('c', '2026-02-01T00:00:00Z'),
    ]
    const { meant, older } = findToken(several, 'render')
    expect([meant, ...older].map(({ id }) => id)).to.deep.equal(['b', 'c', 'a'])
  })

  it('refuses an unknown word without repeating it', () => {
    expect(() => findToken(tokens, 'svc_secret'))
      .to.throw(/^(?!.*svc_secret)/)
      .with.property('code', 'request_refused')
  })
})
