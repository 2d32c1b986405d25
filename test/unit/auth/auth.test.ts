import { expect } from 'chai'
import { once } from 'node:events'
import { ApiKeyConfig, generateApiKey } from '../../../src/lib/auth/api-key-config.ts'
import { CimdDocument } from '../../../src/lib/auth/cimd-document.ts'
import { OAuthConfig } from '../../../src/lib/auth/oauth-config.ts'
import {
  type HeaderSource,
  TokenValidationError,
  unauthorizedResult,
  validateBearerToken,
} from '../../../src/lib/auth/validate-bearer-token.ts'

describe('ApiKeyConfig', () => {
  it('has the defaults of the specification', () => {
    const { apiKey, envVar, headerName } = new ApiKeyConfig()
    expect({ apiKey, envVar, headerName }).to.deep.equal({
      apiKey: null,
      envVar: 'SERVICE_MCP_API_KEY',
      headerName: 'Authorization',
    })
  })

  const cases: [apiKey: string | null, variable: string | undefined, expected: string | null][] = [
    ['field', 'variable', 'field'],
    [null, 'variable', 'variable'],
    ['', 'variable', 'variable'],
    [null, undefined, null],
    [null, '', null],
    ['', '', null],
  ]
  for (const [apiKey, variable, expected] of cases) {
    it(`resolves ${String(expected)} from ${JSON.stringify({ apiKey, variable })}`, () => {
      const config = new ApiKeyConfig({ apiKey, envVar: 'KEY' })
      expect(config.resolve({ KEY: variable })).to.equal(expected)
    })
  }

  it('reads the environment when asked, not before', () => {
    const env: NodeJS.ProcessEnv = {}
    const config = new ApiKeyConfig()
    expect(config.resolve(env)).to.equal(null)
    env.SERVICE_MCP_API_KEY = 'late'
    expect(config.resolve(env)).to.equal('late')
  })
})

describe('ApiKeyConfig', () => {
  for (const envVar of ['constructor', '__proto__', 'toString']) {
    it(`finds no key in the variable ${envVar}`, () => {
      expect(new ApiKeyConfig({ envVar }).resolve()).to.equal(null)
    })
  }
})

describe('redirect URIs', () => {
  const refused = [
    'javascript:alert(1)',
    'JavaScript:alert(1)',
    'data:text/html,x',
    'file:///etc/x',
  ]
  for (const uri of [...refused, 'blob:https://a.example/1', 'vbscript:x', 'about:blank']) {
    it(`must not be ${uri}`, () => {
      const scheme = uri.slice(0, uri.indexOf(':')).toLowerCase()
      const message = `must not have the scheme "${scheme}"`
      const clientName = 'n'
      const providerUrl = 'https://id.example'
      const redirectUris = ['http://127.0.0.1/callback']
      expect(() => new CimdDocument({ clientName, redirectUris: [uri] })).to.throw(message)
      expect(() => new OAuthConfig({ providerUrl, redirectUri: uri })).to.throw(message)
      const provider = new OAuthConfig({ providerUrl })
      expect(() => provider.toCimdDocument({ redirectUri: uri })).to.throw(message)
      for (const member of ['logoUri', 'clientUri']) {
        const options = { clientName, redirectUris, [member]: uri }
        expect(() => new CimdDocument(options)).to.throw(`${member} ${message}`)
      }
    })
  }

  it('may have the scheme of an application', () => {
    const redirectUris = ['cursor://callback', 'com.example.app:/callback', 'http://[::1]:8/cb']
    expect(new CimdDocument({ clientName: 'n', redirectUris }).redirectUris).to.have.length(3)
  })
})

describe('generateApiKey', () => {
  it('gives 43 URL-safe characters by default', () => {
    expect(generateApiKey()).to.match(/^[A-Za-z0-9_-]{43}$/)
    expect(generateApiKey(16)).to.have.length(22)
    expect(generateApiKey(1)).to.have.length(2)
  })

  it('never gives the same key twice', () => {
    expect(new Set(Array.from({ length: 1000 }, () => generateApiKey())).size).to.equal(1000)
  })

  for (const length of [0, -1, 16.5, NaN, Infinity, 1025]) {
    it(`refuses ${length} bytes`, () => {
      expect(() => generateApiKey(length)).to.throw(RangeError)
    })
  }
})

describe('validateBearerToken', () => {
  const expectedToken = 'right'
  const cases: [name: string, headers: HeaderSource, expected: boolean][] = [
    ['the right value', { authorization: 'Bearer right' }, true],
    ['another case of the header name', { AUTHORIZATION: 'Bearer right' }, true],
    ['a Headers object', new Headers({ Authorization: 'Bearer right' }), true],
    ['an array of one value', { authorization: ['Bearer right'] }, true],
    ['no header', {}, false],
    ['an undefined header', { authorization: undefined }, false],
    ['an empty Headers object', new Headers(), false],
    ['another value', { authorization: 'Bearer wrong' }, false],
    ['a longer value', { authorization: 'Bearer right1' }, false],
    ['a beginning', { authorization: 'Bearer righ' }, false],
    ['another scheme', { authorization: 'Basic right' }, false],
    ['another case of the scheme', { authorization: 'bearer right' }, false],
    ['no scheme', { authorization: 'right' }, false],
    ['two spaces', { authorization: 'Bearer  right' }, false],
    ['two values', { authorization: ['Bearer right', 'Bearer right'] }, false],
    [
      'two spellings of the header',
      { authorization: 'Bearer x', Authorization: 'Bearer right' },
      false,
    ],
  ]
  for (const [name, headers, expected] of cases) {
    it(`answers ${expected} for ${name}`, () => {
      expect(validateBearerToken(headers, { expectedToken })).to.equal(expected)
    })
  }

  it('looks at the header it was told', () => {
    const headers = { 'x-api-key': 'Bearer right' }
    expect(validateBearerToken(headers, { expectedToken, headerName: 'X-Api-Key' })).to.equal(true)
    expect(validateBearerToken(headers, { expectedToken })).to.equal(false)
  })

  it('lets everyone in without a token, and warns', () => {
    const warnings: object[] = []
    const log = { warn: (fields: object) => void warnings.push(fields) }
    expect(validateBearerToken({}, { expectedToken: null, log })).to.equal(true)
    expect(warnings).to.deep.equal([{ code: 'SERVICE_AUTH_DISABLED' }])
  })

  it('warns through the process when there is no log', async () => {
    const warned = once(process, 'warning')
    expect(validateBearerToken({}, { expectedToken: null })).to.equal(true)
    const [warning] = (await warned) as [Error & { code?: string }]
    expect(warning.code).to.equal('SERVICE_AUTH_DISABLED')
  })

  it('refuses an empty expected token', () => {
    const headers = { authorization: 'Bearer ' }
    expect(() => validateBearerToken(headers, { expectedToken: '' })).to.throw(TypeError)
  })
})

describe('unauthorizedResult and TokenValidationError', () => {
  it('say that the request is unauthorized', () => {
    const result = unauthorizedResult()
    expect(result.success).to.equal(false)
    expect(result.message).to.match(/unauthorized/)
    expect(unauthorizedResult('no').message).to.equal('no')
  })

  it('is an error with its own name', () => {
    expect(new TokenValidationError('x'))
      .to.be.instanceOf(Error)
      .with.property('name', 'TokenValidationError')
  })
})
