import { expect } from 'chai'
import { decideAccess, principalOf } from '../../../../src/server/auth/oauth/policy.ts'
import { readClaims, timeFailure } from '../../../../src/server/auth/oauth/claims.ts'

const rules = {
  issuer: 'https://login.example/realms/a',
  audience: 'https://studio.example/mcp',
  maxSubjectChars: 100,
}
const good = {
  iss: rules.issuer,
  aud: rules.audience,
  sub: 'ada',
  client_id: 'agent',
  iat: 1000,
  exp: 2000,
  scope: 'mcp:read mcp:write',
}

describe('the claims of a token', () => {
  it('are read', () => {
    expect(readClaims(good, rules)).to.deep.equal({
      ok: true,
      value: {
        subject: 'ada',
        clientId: 'agent',
        scopes: ['mcp:read', 'mcp:write'],
        issuedAtMs: 1_000_000,
        notBeforeMs: 1_000_000,
        expiresAtMs: 2_000_000,
      },
    })
  })

  const taken: [string, object][] = [
    ['this server in a list', { aud: [rules.audience] }],
    ['other servers beside this one', { aud: ['https://other.example', rules.audience] }],
    ['a start that has come', { nbf: 1500 }],
    ['no client', { client_id: undefined }],
    ['the client in azp', { client_id: undefined, azp: 'agent' }],
    ['no scope at all', { scope: undefined }],
  ]
  for (const [title, other] of taken) {
    it(`are taken with ${title}`, () => {
      expect(readClaims({ ...good, ...other }, rules).ok).to.equal(true)
    })
  }

  const refused: [string, object][] = [
    ['another issuer', { iss: 'https://login.example/realms/b' }],
    ['the issuer with a slash', { iss: `${rules.issuer}/` }],
    ['the issuer in a list', { iss: [rules.issuer] }],
    ['no issuer', { iss: undefined }],
    ['another audience', { aud: 'https://studio.example/other' }],
    ['the audience with a slash', { aud: `${rules.audience}/` }],
    ['the host alone as audience', { aud: 'https://studio.example' }],
    ['no audience', { aud: undefined }],
    ['an empty list of audiences', { aud: [] }],
    ['only other servers', { aud: ['https://other.example', 'account'] }],
    ['the audience in a list in a list', { aud: [[rules.audience]] }],
    ['no subject', { sub: undefined }],
    ['an empty subject', { sub: '' }],
    ['a subject that is a number', { sub: 1 }],
    ['a long subject', { sub: 'a'.repeat(101) }],
    ['half a character as subject', { sub: '\ud800' }],
    ['a client that is a list', { client_id: ['agent'] }],
    ['no expiry', { exp: undefined }],
    ['an expiry as text', { exp: '2000' }],
    ['a broken expiry', { exp: 2000.5 }],
    ['a negative expiry', { exp: -1 }],
    ['an endless expiry', { exp: 1e308 }],
    ['an expiry after the year 9999', { exp: 253_402_300_800 }],
    ['an expiry that is null', { exp: null }],
    ['an expiry before the issue', { exp: 1000 }],
    ['no time of issue', { iat: undefined }],
    ['a time of issue as text', { iat: '1000' }],
    ['a broken start', { nbf: 1000.5 }],
    ['a start as text', { nbf: 'now' }],
    ['a scope that is a number', { scope: 1 }],
    ['a list of scopes with a number in it', { scope: undefined, scp: ['a', 1] }],
  ]
  for (const [title, other] of refused) {
    it(`are refused with ${title}`, () => {
      expect(readClaims({ ...good, ...other }, rules).ok).to.equal(false)
    })
  }

  it('do not take the prototype of an object for a member', () => {
    const inherited = Object.create(good)
    expect(readClaims({ ...inherited }, rules).ok).to.equal(false)
  })

  const scopes: [object, string[]][] = [
    [{ scope: '  a   b ' }, ['a', 'b']],
    [{ scope: ['a', 'b'] }, ['a', 'b']],
    [{ scope: undefined, scp: 'a b' }, ['a', 'b']],
    [{ scope: 'a', scp: ['b'] }, ['a', 'b']],
  ]
  for (const [written, read] of scopes) {
    it(`have the scopes of ${JSON.stringify(written)}`, () => {
      const claims = readClaims({ ...good, ...written }, rules)
      expect(claims.ok && claims.value.scopes).to.deep.equal(read)
    })
  }

  const times: [nowMs: number, good: boolean][] = [
    [994_999, false],
    [995_000, true],
    [2_000_000, true],
    [2_004_999, true],
    [2_005_000, false],
  ]
  for (const [nowMs, isGood] of times) {
    it(`${isGood ? 'count' : 'do not count'} at ${nowMs} ms, with a tolerance of 5 s`, () => {
      const span = { issuedAtMs: 1_000_000, notBeforeMs: 1_000_000, expiresAtMs: 2_000_000 }
      expect(timeFailure(span, nowMs, 5000) === null).to.equal(isGood)
    })
  }

  it('do not count before they start, though they were issued', () => {
    const span = { issuedAtMs: 1_000_000, notBeforeMs: 1_500_000, expiresAtMs: 2_000_000 }
    expect(timeFailure(span, 1_400_000, 5000)).not.to.equal(null)
  })
})

describe('what a token is good for', () => {
  const pointers = { resourceMetadata: 'https://studio.example/x', scope: 'mcp:read' }
  const both = { requiredScope: 'mcp:read', writeScope: 'mcp:write' }
  const cases: [string, string[], object, boolean | null][] = [
    ['reading, with the scope for it', ['mcp:read'], both, false],
    ['both, with both scopes', ['mcp:read', 'mcp:write'], both, true],
    ['both, with the greater scope alone', ['mcp:write'], both, true],
    ['nothing, without a scope', [], both, null],
    ['nothing, with a scope that only begins like it', ['mcp:readers'], both, null],
    ['reading, when no scope is asked for', [], {}, false],
    ['reading, when only writing needs one', [], { writeScope: 'w' }, false],
    ['reading, when there is no scope for writing', ['r', 'w'], { requiredScope: 'r' }, false],
  ]
  for (const [title, scopes, rules, mayWrite] of cases) {
    it(`is ${title}`, () => {
      const claims = {
        subject: 'ada',
        clientId: null,
        scopes,
        issuedAtMs: 0,
        notBeforeMs: 0,
        expiresAtMs: 1000,
      }
      const outcome = decideAccess(claims, {
        issuer: 'https://i',
        rules,
        pointers,
        toleranceMs: 5000,
      })
      if (mayWrite === null) {
        expect(outcome).to.deep.include({ ok: false, status: 403, error: 'insufficient_scope' })
        expect(outcome).to.deep.include(pointers)
      } else expect(outcome).to.deep.include({ ok: true, mayWrite, expiresAtMs: 6000 })
    })
  }

  it('belongs to a principal that no other pair of subject and client has', () => {
    const pairs: [string, string | null][] = [
      ['a', 'b'],
      ['a b', null],
      ['a%20b', null],
      ['a', 'b c'],
      ['a b', 'c'],
      ['a', null],
      ['a\nb', null],
    ]
    const names = pairs.map(([subject, clientId]) =>
      principalOf('https://i', { subject, clientId }),
    )
    expect(new Set(names).size).to.equal(pairs.length)
    for (const name of names) expect(name).to.match(/^[\x20-\x7e]+$/)
  })
})
