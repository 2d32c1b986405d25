import { expect } from 'chai'
import {
  type OAuthFlags,
  readOAuth,
  refuseOAuthFlags,
} from '../../../src/commands/oauth-settings.ts'
import { givenMembers } from '../../helpers/given-members.ts'

const issuer = 'https://login.example/realms/a'

describe('the flags of --auth oauth', () => {
  it('need no more than the provider', () => {
    const settings = readOAuth({ 'oauth-issuer': issuer })
    expect(givenMembers(settings)).to.deep.equal({ mode: 'oauth', issuer })
  })

  it('become settings', () => {
    const settings = readOAuth({
      'oauth-issuer': issuer,
      'oauth-audience': 'urn:studio:mcp',
      'oauth-scope': 'mcp:read',
      'oauth-write-scope': 'mcp:write',
      'oauth-client-name': 'an agent',
      'oauth-redirect-uri': 'http://127.0.0.1/callback',
    })
    expect(settings).to.deep.equal({
      mode: 'oauth',
      issuer,
      audience: 'urn:studio:mcp',
      requiredScope: 'mcp:read',
      writeScope: 'mcp:write',
      clientName: 'an agent',
      redirectUri: 'http://127.0.0.1/callback',
    })
  })

  const refused: [string, OAuthFlags][] = [
    ['--oauth-issuer', { 'oauth-issuer': '' }],
    ['--oauth-issuer', { 'oauth-issuer': 'login.example' }],
    ['--oauth-issuer', { 'oauth-issuer': 'http://login.example' }],
    ['--oauth-issuer', { 'oauth-issuer': 'https://login.example?a=b' }],
    ['--oauth-audience', { 'oauth-issuer': issuer, 'oauth-audience': '' }],
    ['--oauth-scope', { 'oauth-issuer': issuer, 'oauth-scope': 'two scopes' }],
    ['--oauth-write-scope', { 'oauth-issuer': issuer, 'oauth-write-scope': '"' }],
    ['--oauth-redirect-uri', { 'oauth-issuer': issuer, 'oauth-redirect-uri': '/callback' }],
  ]
  for (const [flag, flags] of refused) {
    it(`are refused by the name ${flag} for ${JSON.stringify(flags)}`, () => {
      expect(() => readOAuth(flags))
        .to.throw(flag)
        .with.property('code', 'usage_invalid')
    })
  }

  it('mean nothing in another mode', () => {
    expect(() => refuseOAuthFlags({})).not.to.throw()
    for (const flags of [{ 'oauth-issuer': issuer }, { 'oauth-audience': 'a' }]) {
      expect(() => refuseOAuthFlags(flags)).to.throw('add --auth oauth'.slice(6))
    }
  })
})
