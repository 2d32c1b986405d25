import { expect } from 'chai'
import { type AuthRefused, challenge } from '../../../src/server/http/authentication.ts'

const refused: AuthRefused = { ok: false, status: 401, description: 'no' }

describe('challenge', () => {
  const cases: [string, Partial<AuthRefused>, string][] = [
    ['gives the description alone when nothing was sent', {}, ''],
    ['names the error before it', { error: 'invalid_token' }, 'error="invalid_token", '],
  ]
  for (const [name, more, before] of cases) {
    it(name, () => {
      const expected = `Bearer realm="service-cli", ${before}error_description="no"`
      expect(challenge({ ...refused, ...more })).to.equal(expected)
    })
  }

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
