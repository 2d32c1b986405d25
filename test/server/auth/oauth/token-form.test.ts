import { expect } from 'chai'
import type { JWK } from 'jose'
import { readToken } from '../../../../src/server/auth/oauth/token-form.ts'
import { encode, newKey, sign, signAs } from '../../../helpers/openid.ts'

const claims = { iss: 'https://login.example', sub: 'ada', scope: 'mcp:read' }

describe('readToken', () => {
  let key: JWK
  before(async () => {
    key = await newKey('k1')
  })

  const read = (token: string) => readToken(token, { maxAccessTokenChars: 2000 })

  it('reads what the token says of itself', () => {
    const form = read(sign(claims, key))
    expect(form).to.deep.equal({ ok: true, value: { alg: 'ES256', kid: 'k1', claims } })
  })

  const types: [typ: unknown, isTaken: boolean][] = [
    ['at+jwt', true],
    ['AT+JWT', true],
    ['application/at+jwt', true],
    ['JWT', false],
    [undefined, false],
    ['application/jwt', false],
    ['logout+jwt', false],
    ['at+jwt ', false],
    ['', false],
    [null, false],
    [['at+jwt'], false],
  ]
  for (const [typ, isTaken] of types) {
    it(`${isTaken ? 'takes' : 'refuses'} typ ${JSON.stringify(typ)}`, () => {
      expect(read(sign(claims, key, { typ })).ok).to.equal(isTaken)
    })
  }

  it('takes a token of just the characters that are allowed, and no longer one', () => {
    const token = sign({ ...claims, filling: 'x'.repeat(500) }, key)
    const readUpTo = (maxAccessTokenChars: number) => readToken(token, { maxAccessTokenChars }).ok
    expect(readUpTo(token.length)).to.equal(true)
    expect(readUpTo(token.length - 1)).to.equal(false)
  })

  for (const member of ['nonce', 'at_hash', 'c_hash', 's_hash', 'events']) {
    it(`refuses a token with ${member}, which no access token has`, () => {
      expect(read(sign({ ...claims, [member]: 'x' }, key)).ok).to.equal(false)
    })
  }

  for (const alg of ['none', 'None', 'nOnE', 'HS256', 'HS512', 'ES256K', 'RSA1_5', '', null, 1]) {
    it(`refuses the algorithm ${JSON.stringify(alg)}`, () => {
      expect(read(sign(claims, key, { alg })).ok).to.equal(false)
    })
  }

  const headers: [string, object][] = [
    ['an own key', { jwk: { kty: 'EC' } }],
    ['the address of a key', { jku: 'https://evil.example/jwks' }],
    ['the address of a certificate', { x5u: 'https://evil.example/cert' }],
    ['a certificate', { x5c: ['MII'] }],
    ['an unknown demand', { crit: ['exp'] }],
    ['an empty demand', { crit: [] }],
    ['a kid that is a number', { kid: 1 }],
    ['a kid that is null', { kid: null }],
    ['a very long kid', { kid: 'k'.repeat(513) }],
  ]
  for (const [title, header] of headers) {
    it(`refuses a header with ${title}`, () => {
      expect(read(sign(claims, key, header)).ok).to.equal(false)
    })
  }

  it('takes the thumbprint of a certificate, which is only a name', () => {
    expect(read(sign(claims, key, { x5t: 'abc' })).ok).to.equal(true)
  })

  const spellings: [string, (token: string) => string][] = [
    ['padding', token => `${token}=`],
    ['a space behind', token => `${token} `],
    ['a line break behind', token => `${token}\n`],
    ['a space inside', token => token.replace('.', '. ')],
    ['the characters of plain base64', token => token.replace(/[A-Za-z]$/, '+')],
    ['a fourth part', token => `${token}.x`],
    ['two parts', token => token.slice(0, token.lastIndexOf('.'))],
    ['an empty signature', token => token.slice(0, token.lastIndexOf('.') + 1)],
    ['spare bits in the signature', token => otherSpareBits(token)],
    ['nothing', () => ''],
    ['an opaque text', () => 'srt_abcdef'],
  ]
  for (const [title, change] of spellings) {
    it(`refuses ${title}`, () => {
      expect(read(change(sign(claims, key))).ok).to.equal(false)
    })
  }

  const bodies: [string, string][] = [
    ['an array', '[]'],
    ['null', 'null'],
    ['a text', '"x"'],
    ['no JSON', '{'],
    ['JSON behind a byte order mark', '\ufeff{}'],
    ['a deep nesting', `{"a":${'['.repeat(40)}${']'.repeat(40)}}`],
  ]
  for (const [title, body] of bodies) {
    it(`refuses ${title} as claims and as header`, () => {
      const header = { alg: 'ES256', typ: 'at+jwt' }
      expect(read(signAs(header, body, key)).ok).to.equal(false)
      expect(read(`${encode(body)}.${encode('{}')}.AAAA`).ok).to.equal(false)
    })
  }

  it('refuses bytes that are no UTF-8', () => {
    const header = encode(JSON.stringify({ alg: 'ES256', typ: 'at+jwt' }))
    const body = Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]).toString('base64url')
    expect(read(`${header}.${body}.AAAA`).ok).to.equal(false)
  })
})

/** The same bytes, written with another last character. */
function otherSpareBits(token: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  const changed = token.slice(0, -1) + alphabet[alphabet.indexOf(token.slice(-1)) + 1]
  const bytes = (text: string) => Buffer.from(text.split('.')[2] ?? '', 'base64url')
  expect(bytes(changed).equals(bytes(token))).to.equal(true)
  return changed
}
