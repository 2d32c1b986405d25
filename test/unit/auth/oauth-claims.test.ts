import { expect } from 'chai'
import {
  decideAccess,
  principalOf,
  resourceMetadata,
  resourceMetadataPaths,
  resourceMetadataUrl,
} from '../../../src/server/auth/oauth/policy.ts'
import { readClaims } from '../../../src/server/auth/oauth/claims.ts'

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
    ['the issuer in a list', { iss: [rules.issuer] }],
    ['no audience', { aud: undefined }],
    ['only other servers', { aud: ['https://other.example', 'account'] }],
    ['the audience in a list in a list', { aud: [[rules.audience]] }],
    ['no subject', { sub: undefined }],
    ['a long subject', { sub: 'a'.repeat(101) }],
    ['a client that is a list', { client_id: ['agent'] }],
    ['half a character as subject', { sub: '\ud800' }],
    ['an expiry after the year 9999', { exp: 253_402_300_800 }],
    ['an expiry before the issue', { exp: 1000 }],
    ['no time of issue', { iat: undefined }],
    ['a broken start', { nbf: 1000.5 }],
    ['a list of scopes with a number in it', { scope: undefined, scp: ['a', 1] }],
  ]
  for (const [title, other] of refused) {
    it(`are refused with ${title}`, () => {
      expect(readClaims({ ...good, ...other }, rules).ok).to.equal(false)
    })
  }

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

const root = '/.well-known/oauth-protected-resource'

describe('the metadata of the resource', () => {
  const places: [resource: string, url: string, paths: string[]][] = [
    ['https://h/mcp', `https://h${root}/mcp`, [`${root}/mcp`, root]],
    ['http://[::1]:8765/mcp', `http://[::1]:8765${root}/mcp`, [`${root}/mcp`, root]],
    [
      'https://h/blender/a/mcp',
      `https://h${root}/blender/a/mcp`,
      [`${root}/blender/a/mcp`, `${root}/mcp`, root],
    ],
  ]
  for (const [resource, url, paths] of places) {
    it(`of ${resource} is where clients look first`, () => {
      expect(resourceMetadataUrl(resource)).to.equal(url)
      expect(resourceMetadataPaths(resource)).to.deep.equal(paths)
    })
  }

  it('never offers the scope of refresh tokens, and no empty list', () => {
    const parts = { resource: 'https://h/mcp', issuer: 'https://i' }
    expect(resourceMetadata({ ...parts, scopes: ['a'] }).scopes_supported).to.deep.equal(['a'])
    expect(resourceMetadata({ ...parts, scopes: [] })).not.to.have.property('scopes_supported')
  })
})
