import { once } from 'node:events'
import { expect } from 'chai'
import { ApiKeyConfig, generateApiKey } from '../../../src/lib/auth/api-key-config.ts'
import { CimdDocument } from '../../../src/lib/auth/cimd-document.ts'
import { OAuthConfig } from '../../../src/lib/auth/oauth-config.ts'
import { validateBearerToken } from '../../../src/lib/auth/validate-bearer-token.ts'

describe('redirect URIs', () => {
  const clientName = 'n'
  const providerUrl = 'https://id.example'
  const usual = ['http://127.0.0.1/callback']

  for (const uri of ['JavaScript:alert(1)', 'data:text/html,x', 'file:///etc/x', 'about:blank']) {
    it(`must not be ${uri}`, () => {
      const scheme = uri.slice(0, uri.indexOf(':')).toLowerCase()
      const message = `must not have the scheme "${scheme}"`
      expect(() => new CimdDocument({ clientName, redirectUris: [uri] })).to.throw(message)
      expect(() => new OAuthConfig({ providerUrl, redirectUri: uri })).to.throw(message)
      const provider = new OAuthConfig({ providerUrl })
      expect(() => provider.toCimdDocument({ redirectUri: uri })).to.throw(message)
      for (const member of ['logoUri', 'clientUri']) {
        const options = { clientName, redirectUris: usual, [member]: uri }
        expect(() => new CimdDocument(options)).to.throw(`${member} ${message}`)
      }
    })
  }

  it('may have the scheme of an application', () => {
    const redirectUris = ['cursor://callback', 'com.example.app:/callback', 'http://[::1]:8/cb']
    expect(new CimdDocument({ clientName, redirectUris }).redirectUris).to.have.length(3)
  })
})

describe('API keys', () => {
  it('are not found in a variable that every object has', () => {
    for (const envVar of ['constructor', '__proto__']) {
      expect(new ApiKeyConfig({ envVar }).resolve()).to.equal(null)
    }
  })

  it('are not made of too few or too many bytes', () => {
    for (const length of [0, 16.5, NaN, 1025]) {
      expect(() => generateApiKey(length)).to.throw(RangeError)
    }
  })

  it('that are not asked for are told as a warning of the process', async () => {
    const warned = once(process, 'warning')
    expect(validateBearerToken({}, { expectedToken: null })).to.equal(true)
    expect((await warned)[0].code).to.equal('SERVICE_AUTH_DISABLED')
  })
})
