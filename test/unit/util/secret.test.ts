import { inspect } from 'node:util'
import { expect } from 'chai'
import {
  isSensitiveName,
  redactMember,
  Secret,
  withoutSecrets,
} from '../../../src/lib/util/secret.ts'

describe('Secret', () => {
  const secret = new Secret('s3cr3t-ä')

  it('prints itself redacted, whatever the way', () => {
    const nested = { headers: { token: secret }, list: [secret] }
    for (const printed of [
      JSON.stringify(nested),
      inspect(nested, { depth: 9, showHidden: true }),
      inspect(secret, { customInspect: false, showHidden: true }),
      Object.entries(secret).join(),
      new Error(`wrong ${secret}`).message,
    ]) {
      expect(printed).not.to.contain('s3cr3t')
    }
    expect(JSON.stringify({ secret })).to.equal('{"secret":"[secret]"}')
    expect(inspect({ secret })).to.equal('{ secret: [secret] }')
    expect(`${secret}`).to.equal('[secret]')
  })

  it('equals its own text alone', () => {
    expect(secret.equals('s3cr3t-ä')).to.equal(true)
    for (const other of ['s3cr3t-a', 'S3CR3T-Ä', 's3cr3t-', 's3cr3t-ä ', '']) {
      expect(secret.equals(other), other).to.equal(false)
    }
  })

  it('refuses to be empty', () => expect(() => new Secret('')).to.throw(TypeError))
})

describe('isSensitiveName', () => {
  const secrets = `
    password PASSWORD user_password password2 passwd pwd passphrase
    token accessToken access_token accesstoken oauth2Token tokenValue
    client-secret clientsecret secrets dbCredential credentials
    key apiKey api_keys apikey APIKey X-Api-Key privateKeys authkey
    Proxy-Authorization authorizationHeader Set-Cookie cookies`
  for (const name of secrets.trim().split(/\s+/)) {
    it(`says yes to ${name}`, () => expect(isSensitiveName(name)).to.equal(true))
  }

  // The last ones are paths, which whoever connects needs.
  const harmless = `
    keyframe keyFrame key_frame keys curve_keys keyType keyboard
    monkey hotkeyName secretary author render_pass compass
    tokenizer tokenCount name host_token_file hostTokenFile`
  for (const name of ['', ...harmless.trim().split(/\s+/)]) {
    it(`says no to "${name}"`, () => expect(isSensitiveName(name)).to.equal(false))
  }
})

describe('redactMember', () => {
  const hidden = '[redacted]'

  it('keeps numbers and booleans under names of amounts, and hides texts there', () => {
    for (const name of ['max_tokens', 'maxTokens', 'tokens', 'key_frames', 'num_keys']) {
      for (const value of [5, 0, true]) expect(redactMember(name, value), name).to.equal(value)
    }
    for (const name of ['max_tokens', 'tokens']) {
      for (const value of ['eyJhbGci', ['eyJhbGci'], { a: 'eyJhbGci' }]) {
        expect(redactMember(name, value), name).to.equal(hidden)
      }
    }
  })

  it('hides everything under names of secrets, with a bound before them, too', () => {
    const names = ['password', 'secret', 'token', 'apiKey', 'secrets', 'max_password', 'maxApiKeys']
    for (const name of names) {
      for (const value of ['x', 5, true, null, { a: 1 }, [1]]) {
        expect(redactMember(name, value), name).to.equal(hidden)
      }
    }
  })
})

describe('withoutSecrets', () => {
  const cases: [uri: string, shown: string][] = [
    ['scene://delta?since=4', 'scene://delta?since=4'],
    ['app://x?token=abc&limit=2', 'app://x?token=[redacted]&limit=2'],
    ['app://x?api%5Fkey=a=b&q', 'app://x?api%5Fkey=[redacted]&q'],
    ['app://x?password=b?c#part', 'app://x?password=[redacted]'],
    ['app://x?limit=2#token=abc', 'app://x?limit=2'],
    ['app:anna:pw@host', 'app:host'],
    ['app://anna:pw@host/x@y', 'app://host/x@y'],
    ['app://x?auth=a&sig=b&jwt=d', 'app://x?auth=[redacted]&sig=[redacted]&jwt=[redacted]'],
    ['app://x?X-Amz-Signature=a&code=b', 'app://x?X-Amz-Signature=[redacted]&code=[redacted]'],
    ['app://x?limit=2;token=a;b&n=1', 'app://x?limit=2;token=[redacted]&n=1'],
    ['app://x?shot_code=7&design=blue', 'app://x?shot_code=7&design=blue'],
    ['app://x?%E0%A4%A=1', 'app://x?%E0%A4%A=1'],
  ]
  for (const [uri, shown] of cases) {
    it(`shows ${uri} as ${shown}`, () => expect(withoutSecrets(uri)).to.equal(shown))
  }
})
