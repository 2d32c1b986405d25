import { inspect } from 'node:util'
import { expect } from 'chai'
import { hideTokens, isSecretMember, Secret, withoutSecrets } from '../../../src/lib/util/secret.ts'

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

describe('isSecretMember', () => {
  const secrets = `
    password USER_PASSWORD passwd passphrase token accessToken client-secret dbCredentials
    apiKey api_keys X-Api-Key privateKey Proxy-Authorization Set-Cookie`
  it('is true of every value under names of secrets', () => {
    for (const name of secrets.trim().split(/\s+/)) {
      for (const value of ['x', 5, null, [1]]) {
        expect(isSecretMember(name, value), name).to.equal(true)
      }
    }
  })

  it('is false of values under other names', () => {
    const names = 'keyframe key_frame keys monkey author max_tokens tokenCount host_token_file'
    for (const name of names.split(' ')) expect(isSecretMember(name, 'x'), name).to.equal(false)
  })
})

describe('hideTokens', () => {
  for (const token of [
    'svc_abcdefgh1234',
    'eyJhbGciOiJFUzI1NiJ9.e30',
    `Bearer ${'a'.repeat(20)}`,
  ]) {
    it(`hides ${token}`, () => {
      const shown = hideTokens(`sent "${token}" there`)
      expect(shown).to.match(/^sent "(Bearer )?\[redacted\]" there$/)
    })
  }
})

describe('withoutSecrets', () => {
  const cases: [uri: string, shown: string][] = [
    ['scene://delta?since=4', 'scene://delta?since=4'],
    ['app://x?token=abc&limit=2', 'app://x?token=[redacted]&limit=2'],
    ['app://x?limit=2#token=abc', 'app://x?limit=2'],
    ['app://anna:pw@host/x@y', 'app://host/x@y'],
    ['app://x?X-Amz-Signature=a&code=b', 'app://x?X-Amz-Signature=[redacted]&code=[redacted]'],
    ['app://x?shot_code=7&design=blue', 'app://x?shot_code=7&design=blue'],
  ]
  for (const [uri, shown] of cases) {
    it(`shows ${uri} as ${shown}`, () => expect(withoutSecrets(uri)).to.equal(shown))
  }
})
