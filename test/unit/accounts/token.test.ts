import { expect } from 'chai'
import { tokenExpiry } from '../../../src/lib/auth/validate-bearer-token.ts'
import { Secret } from '../../../src/lib/util/secret.ts'

describe('tokenExpiry', () => {
  const jwt = (claims: string) => `e30.${Buffer.from(claims).toString('base64url')}.c2ln`
  const cases: [token: string, ms: number | undefined][] = [
    [jwt('{"exp":1800000000.5}'), 1_800_000_000_500],
    [jwt('{"exp":"soon"}'), undefined],
    [jwt('{"exp":1e308}'), undefined],
    [jwt('not json'), undefined],
    ['svc_opaque', undefined],
  ]
  for (const [token, ms] of cases) {
    it(`is ${ms} for ${token}`, () => expect(tokenExpiry(new Secret(token))).to.equal(ms))
  }
})
