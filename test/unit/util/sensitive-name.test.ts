import { expect } from 'chai'
import { isSensitiveName, redactMember } from '../../../src/lib/util/secret.ts'

const secrets = [
  'password',
  'Password',
  'PASSWORD',
  'user_password',
  'password2',
  'passwd',
  'passphrase',
  'token',
  'accessToken',
  'access_token',
  'accesstoken',
  'oauth2Token',
  'tokens',
  'tokenValue',
  'secret',
  'client-secret',
  'clientsecret',
  'secrets',
  'key',
  'apiKey',
  'api_key',
  'apikey',
  'API_KEY',
  'APIKey',
  'X-Api-Key',
  'private_key',
  'privateKeys',
  'apiKeys',
  'authkey',
  'authorization',
  'Proxy-Authorization',
  'authorizationHeader',
  'cookie',
  'set-cookie',
  'Set-Cookie',
  'cookies',
  'credentials',
  'dbCredential',
  'pwd',
  'api_keys',
  'apiKeyValue',
  'hostToken',
  'host_token',
]
const harmless = [
  'keyframe',
  'keyFrame',
  'key_frame',
  'keyframes',
  'keys',
  'curve_keys',
  'monkey',
  'hotkey',
  'Turkey',
  'hotkeyName',
  'keyboard',
  'secretary',
  'author',
  'authority',
  'passes',
  'render_pass',
  'compass',
  'tokenizer',
  'tokenCount',
  'name',
  '',
  '0',
  'keyType',
  // A path, which whoever connects needs.
  'host_token_file',
  'hostTokenFile',
]

describe('isSensitiveName', () => {
  for (const name of secrets) {
    it(`says yes to ${name}`, () => expect(isSensitiveName(name)).to.equal(true))
  }
  for (const name of harmless) {
    it(`says no to "${name}"`, () => expect(isSensitiveName(name)).to.equal(false))
  }
})

describe('redactMember', () => {
  const amounts = ['max_tokens', 'maxTokens', 'tokens', 'token_count', 'key_frames', 'num_keys']
  for (const name of amounts) {
    it(`keeps numbers and booleans under ${name}`, () => {
      for (const value of [5, 0, true, false]) expect(redactMember(name, value)).to.equal(value)
    })
  }

  for (const name of ['password', 'secret', 'token', 'api_key', 'apiKey', 'passwords', 'secrets']) {
    it(`hides everything under ${name}`, () => {
      for (const value of ['x', 5, true, null, { a: 1 }, [1]]) {
        expect(redactMember(name, value)).to.equal('[redacted]')
      }
    })
  }

  const counted = [
    'max_password',
    'num_secret',
    'count_api_key',
    'api_keys',
    'maxApiKeys',
    'apikeys',
  ]
  for (const name of counted) {
    it(`hides numbers and booleans under ${name}`, () => {
      for (const value of [5, true]) expect(redactMember(name, value)).to.equal('[redacted]')
    })
  }

  it('hides texts and lists under max_tokens and tokens', () => {
    for (const value of ['eyJhbGci', ['eyJhbGci'], { a: 'eyJhbGci' }]) {
      for (const name of ['max_tokens', 'tokens']) {
        expect(redactMember(name, value)).to.equal('[redacted]')
      }
    }
  })
})
