import { expect } from 'chai'
import { findToken } from '../../../src/commands/account/tokens.ts'
import type { TokenView } from '../../../src/lib/registry/answers.ts'

const times = { created_at: undefined, expires_at: undefined, last_used_at: undefined }
const token = (id: string, name: string): TokenView => ({ id, name, scopes: [], ...times })
const tokens = [token('1', 'ci'), token('2', 'render'), token('3', 'render'), token('4', '1')]

describe('findToken', () => {
  it('finds by id before name', () => {
    expect(findToken(tokens, '1').name).to.equal('ci')
  })

  it('finds by a name that one token has', () => {
    expect(findToken(tokens, 'ci').id).to.equal('1')
  })

  it('refuses a name that several have, naming their ids', () => {
    expect(() => findToken(tokens, 'render'))
      .to.throw('2, 3')
      .with.property('code', 'usage_invalid')
  })

  it('refuses an unknown word without repeating it', () => {
    expect(() => findToken(tokens, 'svc_secret'))
      .to.throw(/^(?!.*svc_secret)/)
      .with.property('code', 'request_refused')
  })
})
