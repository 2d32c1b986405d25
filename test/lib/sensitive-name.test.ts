import { expect } from 'chai'
import { isSensitiveName } from '../../src/lib/sensitive-name.ts'

const secrets = [
  ...['password', 'Password', 'PASSWORD', 'user_password', 'password2', 'passwd', 'passphrase'],
  ...['token', 'accessToken', 'access_token', 'accesstoken', 'oauth2Token', 'tokens', 'tokenValue'],
  ...['secret', 'client-secret', 'clientsecret', 'secrets', 'key', 'apiKey', 'api_key', 'apikey'],
  ...['API_KEY', 'APIKey', 'X-Api-Key', 'private_key', 'privateKeys', 'apiKeys', 'authkey'],
  ...['authorization', 'Proxy-Authorization', 'authorizationHeader', 'cookie', 'set-cookie'],
  ...['Set-Cookie', 'cookies', 'credentials', 'dbCredential', 'pwd'],
  ...['api_keys', 'apiKeyValue', 'hostToken', 'host_token'],
]
const harmless = [
  ...[
    'keyframe',
    'keyFrame',
    'key_frame',
    'keyframes',
    'keys',
    'curve_keys',
    'monkey',
    'hotkey',
    'Turkey',
  ],
  ...['hotkeyName', 'keyboard', 'secretary', 'author', 'authority', 'passes', 'render_pass'],
  ...['compass', 'tokenizer', 'tokenCount', 'name', '', '0', 'keyType'],
  // A path, which whoever connects needs.
  ...['host_token_file', 'hostTokenFile'],
]

describe('isSensitiveName', () => {
  for (const name of secrets) {
    it(`says yes to ${name}`, () => expect(isSensitiveName(name)).to.equal(true))
  }
  for (const name of harmless) {
    it(`says no to "${name}"`, () => expect(isSensitiveName(name)).to.equal(false))
  }
})
