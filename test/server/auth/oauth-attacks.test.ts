import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import { decodeJwt, type JWK } from 'jose'
import type { RawSession } from '../../helpers/mcp.ts'
import { encode, newKey, publicOf, sign, signAs } from '../../helpers/openid.ts'
import { OAuthServers } from './oauth-servers.ts'

describe('a forged token', () => {
  let key: JWK
  let servers: OAuthServers
  let session: RawSession
  /** As the provider issued it. */
  let token: string
  let claims: Record<string, any>
  const header = { alg: 'ES256', typ: 'at+jwt', kid: 'signing' }
  /** Where attackers would like this server to fetch keys. */
  let trap: Server
  let trapUrl: string
  let trapped = 0

  before(async () => {
    key = await newKey('signing')
    trap = createServer((_req, res) => {
      trapped++
      res.end(JSON.stringify({ keys: [publicOf(key)] }))
    }).listen(0, '127.0.0.1')
    await once(trap, 'listening')
    trapUrl = `http://127.0.0.1:${(trap.address() as AddressInfo).port}/keys`
    servers = await OAuthServers.open({ keys: [key, await newKey('other', 'RS256')] })
    token = await servers.token()
    claims = decodeJwt(token)
    session = await servers.session(token)
  })

  after(async () => {
    await servers?.close()
    trap?.close()
  })

  // The numbers are those of the list of attacks that all doors of the program are held against.
  const forged: [title: string, make: () => string | Promise<string>, why: RegExp][] = [
    ['1: alg none', () => unsigned('none'), /accepted algorithm/],
    ['1: alg nOnE with the old signature', () => resigned({ alg: 'nOnE' }), /accepted algorithm/],
    ['1: no signature at all', () => `${parts()[0]}.${parts()[1]}.`, /not a signed JWT/],
    [
      '2: HS256 with the public key as JWK',
      () => symmetric(JSON.stringify(publicOf(key))),
      /accepted alg/,
    ],
    ['3: expired ten seconds ago', () => sign(span(-600, -10), key), /has expired/],
    ['4: another issuer', () => sign({ ...claims, iss: trapUrl }, key), /another issuer/],
    [
      '4: for another server',
      () => servers.provider.token('http://127.0.0.1:1/mcp'),
      /not for this server/,
    ],
    [
      '4: for several other servers',
      () => sign({ ...claims, aud: [servers.serving.base, trapUrl] }, key),
      /not for this server/,
    ],
    ['5: typ JWT', () => sign(claims, key, { typ: 'JWT' }), /access token/],
    [
      '5: an ID token',
      () => sign({ ...claims, aud: 'agent', nonce: 'x' }, key, { typ: undefined }),
      /access token/,
    ],
    [
      '5: an ID token that is marked as an access token',
      () => sign({ ...claims, nonce: 'x' }, key),
      /not an access token/,
    ],
    [
      '6: other claims',
      () => [parts()[0], encode(JSON.stringify({ ...claims, sub: 'root' })), parts()[2]].join('.'),
      /signature/,
    ],
    [
      '6: another signature',
      () => [parts()[0], parts()[1], flipped(parts()[2])].join('.'),
      /signature/,
    ],
    ['7: spare bits', () => withSpareBits(), /canonical/],
    ['8: the kid __proto__', () => resigned({ kid: '__proto__' }), /key of the provider/],
    [
      '8: the kid of a key for another algorithm',
      () => resigned({ kid: 'other' }),
      /key of the provider/,
    ],
    ['9: an own key', async () => withOwnKey('jwk'), /contains a key/],
    ['9: the address of a key', async () => withOwnKey('jku'), /contains a key/],
    [
      '9: an own key under a known name',
      async () => sign(claims, await newKey('signing')),
      /signature/,
    ],
    ['9: an unknown demand', () => resigned({ crit: ['x'], x: 1 }), /extension/],
    ['10: an expiry as text', () => sign({ ...claims, exp: `${claims['exp']}` }, key), /exp/],
    ['10: no expiry', () => sign({ ...claims, exp: undefined }, key), /exp/],
    ['10: issued in the future', () => sign(span(60, 600), key), /not valid yet/],
    ['10: not to be used yet', () => sign({ ...claims, nbf: now() + 60 }, key), /not valid yet/],
    ['of 9 KB', () => sign({ ...claims, extra: 'x'.repeat(7000) }, key), /too long/],
  ]
  for (const [title, make, why] of forged) {
    it(`is refused on every route: ${title}`, async () => {
      await servers.expectRefused(session, `Bearer ${await make()}`, why)
    })
  }

  it('made no request to an address that a token named, and ended no session', async () => {
    expect(trapped).to.equal(0)
    expect(await session.call('ping')).to.deep.include({ result: {} })
  })

  function parts(): [string, string, string] {
    return token.split('.') as [string, string, string]
  }

  function now(): number {
    return Math.floor(Date.now() / 1000)
  }

  function span(fromSeconds: number, toSeconds: number): object {
    return { ...claims, iat: now() + fromSeconds, exp: now() + toSeconds }
  }

  function resigned(other: object): string {
    return signAs({ ...header, ...other }, claims, key)
  }

  function unsigned(alg: string): string {
    return `${encode(JSON.stringify({ ...header, alg }))}.${parts()[1]}.${parts()[2]}`
  }

  function symmetric(secret: string): string {
    const input = `${encode(JSON.stringify({ ...header, alg: 'HS256' }))}.${parts()[1]}`
    return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`
  }

  async function withOwnKey(member: 'jwk' | 'jku'): Promise<string> {
    const own = await newKey('own')
    return sign(claims, own, { [member]: member === 'jwk' ? publicOf(own) : trapUrl })
  }

  /** The same bytes, spelled with another last character. */
  function withSpareBits(): string {
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    return token.slice(0, -1) + alphabet[alphabet.indexOf(token.slice(-1)) + 1]
  }
})

/** Another character in the middle. */
function flipped(text: string): string {
  const at = Math.floor(text.length / 2)
  return text.slice(0, at) + (text[at] === 'A' ? 'B' : 'A') + text.slice(at + 1)
}
