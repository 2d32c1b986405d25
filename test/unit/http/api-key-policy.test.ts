import { expect } from 'chai'
import {
  apiKeyPolicy,
  type AuthOutcome,
  challenge,
} from '../../../src/server/http/authentication.ts'

describe('apiKeyPolicy', () => {
  const policy = apiKeyPolicy('correct-key')

  const cases: [string, string | undefined, boolean, string | undefined][] = [
    ['accepts the key', 'Bearer correct-key', true, undefined],
    ['accepts the scheme in any case', 'bearer correct-key', true, undefined],
    ['refuses a missing header without an error code', undefined, false, undefined],
    ['refuses another key', 'Bearer wrong-key', false, 'invalid_token'],
    ['refuses a prefix of the key', 'Bearer correct-ke', false, 'invalid_token'],
    ['refuses another scheme', 'Basic correct-key', false, 'invalid_token'],
    ['refuses the bare key', 'correct-key', false, 'invalid_token'],
    ['refuses an empty token', 'Bearer ', false, 'invalid_token'],
  ]
  for (const [name, authorization, accepted, error] of cases) {
    it(name, () => {
      const headers = authorization === undefined ? {} : { authorization }
      const outcome = policy.authenticate({ headers, peer: '127.0.0.1' }) as AuthOutcome
      expect(outcome.ok).to.equal(accepted)
      if (!outcome.ok) {
        expect(outcome.status).to.equal(401)
        expect(outcome.error).to.equal(error)
        expect(challenge(outcome)).to.match(/^Bearer realm="service-cli"/)
        expect(JSON.stringify(outcome)).not.to.include('correct-key')
      }
    })
  }

  it('throws for an empty key: a configured key is never ignored', () => {
    expect(() => apiKeyPolicy('')).to.throw(TypeError)
  })

  for (const key of [
    'has space',
    ' s3cret',
    'key\n',
    'tab\tkey',
    'schlüssel',
    'key\0',
    'key\x7f',
  ]) {
    it(`throws for ${JSON.stringify(key)}, which no request can send, and does not repeat it`, () => {
      expect(() => apiKeyPolicy(key))
        .to.throw(TypeError)
        .with.property('message')
        .not.contains(key)
    })
  }
})
