import { expect } from 'chai'
import {
  apiKeyPolicy,
  type AuthOutcome,
  type AuthRefused,
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

  for (const key of [' s3cret', 'key\n', 'schlüssel', 'key\x7f']) {
    it(`throws for ${JSON.stringify(key)}, which no request can send, and does not repeat it`, () => {
      expect(() => apiKeyPolicy(key))
        .to.throw(TypeError)
        .with.property('message')
        .not.contains(key)
    })
  }
})

describe('challenge', () => {
  const refused: AuthRefused = { ok: false, status: 401, description: 'no' }

  it('gives the description, and the error before it', () => {
    const [realm, described] = ['Bearer realm="service-cli"', 'error_description="no"']
    expect(challenge(refused)).to.equal(`${realm}, ${described}`)
    const told = challenge({ ...refused, error: 'invalid_token' })
    expect(told).to.equal(`${realm}, error="invalid_token", ${described}`)
  })

  it('points to the metadata of the resource, with the scopes to ask for', () => {
    const resourceMetadata = 'https://a.example/.well-known/oauth-protected-resource'
    expect(challenge({ ...refused, scope: 'read write', resourceMetadata })).to.match(
      new RegExp(`, scope="read write", resource_metadata="${resourceMetadata}"$`),
    )
  })

  it('keeps to what a header may carry and a client reads without escapes', () => {
    const description = 'of "Bühne"\\\r\nSet-Cookie: a'
    expect(challenge({ ...refused, description })).to.include(
      `error_description="of 'B?hne'???Set-Cookie: a"`,
    )
  })
})
