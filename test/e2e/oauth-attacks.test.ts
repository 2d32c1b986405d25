import { createServer, type Server } from 'node:http'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { decodeJwt, exportSPKI, importJWK, type CryptoKey, type JWK } from 'jose'
import { monotonicClock, systemClock } from '../../src/lib/clock.ts'
import { silentLogger } from '../../src/lib/logger.ts'
import { artefactPutBytes } from '../../src/server/artefacts/helpers.ts'
import type { Auth } from '../../src/server/auth/auth.ts'
import { defaultAuthLimits } from '../../src/server/auth/limits.ts'
import { createOAuthPolicy } from '../../src/server/auth/oauth/policy.ts'
import { type Answer, ask, initializeBody, postHeaders, RawSession, rpc } from '../helpers/mcp.ts'
import { type TestServer, startServer } from '../helpers/mcp.ts'
import { encode, newKey, OpenIdServer, publicOf, sign, signAs } from '../helpers/openid.ts'
import { stateless, statelessHeaders, statelessRequest } from '../helpers/stateless.ts'

describe('an access token', function () {
  this.timeout(20_000)
  let key: JWK
  let provider: OpenIdServer
  let serving: TestServer
  let auth: Auth
  let folder: string
  let artefact: string
  let session: RawSession
  /** As the provider issued it. */
  let token: string
  let claims: Record<string, any>
  let header: Record<string, unknown>
  let offsetMs = 0
  /** Where attackers would like this server to fetch keys. */
  let trap: Server
  let trapUrl: string
  let trapped = 0

  before(async () => {
    key = await newKey('signing')
    provider = await OpenIdServer.start([key, await newKey('other', 'RS256')])
    trap = createServer((_req, res) => {
      trapped++
      res.end(JSON.stringify({ keys: [publicOf(key)] }))
    }).listen(0, '127.0.0.1')
    await once(trap, 'listening')
    trapUrl = `http://127.0.0.1:${(trap.address() as AddressInfo).port}/keys`

    folder = await mkdtemp(join(tmpdir(), 'oauth-'))
    const root = join(folder, 'dcc-mcp-artefacts')
    const stored = await artefactPutBytes(Buffer.from('a body'), { root })
    let url = 'http://127.0.0.1:1/mcp'
    auth = createOAuthPolicy(
      {
        mode: 'oauth',
        issuer: provider.issuer,
        requiredScope: 'mcp:read',
        writeScope: 'mcp:write',
      },
      {
        mcpUrl: () => url,
        limits: { ...defaultAuthLimits, unknownKeyCooldownMs: 1 },
        clock: { now: () => systemClock.now() + offsetMs },
        ticks: monotonicClock,
        log: silentLogger,
      },
    )
    serving = await startServer(
      { registryDir: folder, enableArtefactResources: true },
      { auth: auth.policy, documents: () => auth.documents },
    )
    url = serving.url
    artefact = `${serving.base}/artefacts/sha256/${stored.uri.slice(-64)}`
    token = await provider.token(url, 'mcp:read')
    claims = decodeJwt(token)
    header = { alg: 'ES256', typ: 'at+jwt', kid: 'signing' }
    session = await RawSession.open(url, '2025-11-25', { Authorization: `Bearer ${token}` })
  })

  afterEach(() => {
    offsetMs = 0
  })

  after(async () => {
    await serving?.stop()
    await auth?.close()
    await provider?.stop()
    trap?.close()
    await rm(folder, { recursive: true, force: true })
  })

  /** On every route of both eras. */
  async function everywhere(authorization: string | null): Promise<Map<string, Answer>> {
    const sent = authorization === null ? {} : { Authorization: authorization }
    const { Authorization: _, ...inSession } = session.headers
    const { url } = serving
    const post = (headers: object, body: string) =>
      ask(url, { method: 'POST', headers: { ...headers, ...sent }, body })
    const modern = (method: string, params = {}) =>
      post(statelessHeaders(method, params), JSON.stringify(statelessRequest(method, params)))
    const stream = { ...inSession, ...sent, Accept: 'text/event-stream' }
    const listed: [string, Promise<Answer>][] = [
      ['initialize', post(postHeaders, initializeBody())],
      ['POST in a session', post(inSession, rpc('resources/list'))],
      ['GET in a session', ask(url, { headers: stream })],
      ['DELETE of a session', ask(url, { method: 'DELETE', headers: { ...inSession, ...sent } })],
      ['server/discover', modern('server/discover')],
      ['resources/read', modern('resources/read', { uri: 'scene://current' })],
      ['subscriptions/listen', modern('subscriptions/listen', { notifications: {} })],
      ['GET of an artefact', ask(artefact, { headers: sent })],
      ['HEAD of an artefact', ask(artefact, { method: 'HEAD', headers: sent })],
    ]
    const answers = new Map<string, Answer>()
    for (const [route, answer] of listed) answers.set(route, await answer)
    return answers
  }

  async function expectRefused(authorization: string | null, why?: RegExp): Promise<void> {
    for (const [route, answer] of await everywhere(authorization)) {
      expect(answer.status, `${route}: ${answer.text}`).to.equal(401)
      const challenge = answer.headers['www-authenticate']
      expect(challenge, route).to.match(/^Bearer realm="service-cli"/)
      const metadata = `${serving.base}/.well-known/oauth-protected-resource/mcp`
      expect(challenge, route).to.contain(`resource_metadata="${metadata}"`)
      expect(challenge, route).to.contain('scope="mcp:read"')
      if (authorization === null) expect(challenge, route).not.to.contain('error=')
      else expect(challenge, route).to.contain('error="invalid_token"')
      if (why !== undefined) expect(challenge, route).to.match(why)
      expect(answer.text, route).not.to.contain('a body')
    }
  }

  it('of the provider, for this server, is let in on every route', async () => {
    expect(claims).to.deep.include({ iss: provider.issuer, aud: serving.url, scope: 'mcp:read' })
    const headers = { Authorization: `Bearer ${token}` }
    expect((await ask(artefact, { headers })).text).to.equal('a body')
    const listed = await session.call('resources/list')
    expect(listed.result.resources).not.to.have.lengthOf(0)
    const stream = await session.listen()
    stream.close()
    const method = 'server/discover'
    const modern = await ask(serving.url, {
      method: 'POST',
      headers: { ...statelessHeaders(method), ...headers },
      body: JSON.stringify(statelessRequest(method)),
    })
    expect(modern.json.result.supportedVersions).to.include(stateless)
  })

  it('is asked for where none is sent, or none in the right place', async () => {
    await expectRefused(null)
    await expectRefused('Bearer')
    await expectRefused(`Basic ${token}`)
    await expectRefused(`DPoP ${token}`)
    await expectRefused(token)
    await expectRefused(`Bearer x, Bearer ${token}`)
    const inQuery = await ask(`${serving.url}?access_token=${token}`, {
      method: 'POST',
      headers: postHeaders,
      body: initializeBody(),
    })
    expect(inQuery.status).to.equal(401)
  })

  // The numbers are those of the list of attacks that all doors of the program are held against.
  const forged: [title: string, make: () => string | Promise<string>, why: RegExp][] = [
    ['1: alg none', () => unsigned('none'), /accepted algorithm/],
    ['1: alg None', () => unsigned('None'), /accepted algorithm/],
    ['1: alg nOnE with the old signature', () => resigned({ alg: 'nOnE' }), /accepted algorithm/],
    ['1: no signature at all', () => `${parts()[0]}.${parts()[1]}.`, /not a signed JWT/],
    [
      '2: HS256 with the public key as JWK',
      () => symmetric(JSON.stringify(publicOf(key))),
      /accepted alg/,
    ],
    ['2: HS256 with the public key as PEM', async () => symmetric(await pem()), /accepted alg/],
    ['3: expired ten seconds ago', () => sign(span(-600, -10), key), /has expired/],
    ['4: another issuer', () => sign({ ...claims, iss: trapUrl }, key), /another issuer/],
    [
      '4: the issuer with a slash',
      () => sign({ ...claims, iss: `${claims['iss']}/` }, key),
      /issuer/,
    ],
    [
      '4: for another server',
      () => provider.token('http://127.0.0.1:1/mcp'),
      /not for this server/,
    ],
    [
      '4: for the origin alone',
      () => sign({ ...claims, aud: serving.base }, key),
      /not for this server/,
    ],
    [
      '4: for another server as well',
      () => sign({ ...claims, aud: [serving.url, trapUrl] }, key),
      /other servers as well/,
    ],
    ['5: typ JWT', () => sign(claims, key, { typ: 'JWT' }), /access token/],
    [
      '5: an ID token',
      () => sign({ ...claims, aud: 'agent', nonce: 'x' }, key, { typ: undefined }),
      /access token/,
    ],
    [
      '5: an ID token that names this server',
      () => sign({ ...claims, scope: undefined }, key, { typ: undefined }),
      /access token/,
    ],
    [
      '5: a logout token',
      () => sign({ ...claims, events: {} }, key, { typ: 'logout+jwt' }),
      /access token/,
    ],
    ['5: an opaque token', () => 'srt_0123456789abcdef', /not a signed JWT/],
    ['6: another header', () => [flipped(parts()[0]), parts()[1], parts()[2]].join('.'), /./],
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
    ['6: a cut signature', () => token.slice(0, -8), /signature/],
    ['6: a fourth part', () => `${token}.e30`, /not a signed JWT/],
    ['6: padding', () => `${token}==`, /not a signed JWT/],
    ['7: spare bits', () => withSpareBits(), /only spelling/],
    ['8: the kid of a path', () => resigned({ kid: '../../etc/passwd' }), /key of the provider/],
    ['8: the kid of a query', () => resigned({ kid: "' OR 1=1--" }), /key of the provider/],
    ['8: the kid __proto__', () => resigned({ kid: '__proto__' }), /key of the provider/],
    ['8: the kid constructor', () => resigned({ kid: 'constructor' }), /key of the provider/],
    ['8: a NUL in the kid', () => resigned({ kid: 'signing\0' }), /key of the provider/],
    ['8: a kid of 5 KB', () => resigned({ kid: 'k'.repeat(5000) }), /names its key/],
    [
      '8: the kid of a key for another algorithm',
      () => resigned({ kid: 'other' }),
      /key of the provider/,
    ],
    ['9: an own key', async () => withOwnKey('jwk'), /brings its own key/],
    ['9: the address of a key', async () => withOwnKey('jku'), /brings its own key/],
    ['9: the address of a certificate', async () => withOwnKey('x5u'), /brings its own key/],
    [
      '9: an own key under a known name',
      async () => sign(claims, await newKey('signing')),
      /signature/,
    ],
    ['9: an unknown demand', () => resigned({ crit: ['x'], x: 1 }), /extension/],
    ['10: an expiry as text', () => sign({ ...claims, exp: `${claims['exp']}` }, key), /exp/],
    [
      '10: an expiry with a fraction',
      () => sign({ ...claims, exp: claims['exp'] + 0.5 }, key),
      /exp/,
    ],
    ['10: a negative expiry', () => sign({ ...claims, exp: -1 }, key), /exp/],
    ['10: an endless expiry', () => sign({ ...claims, exp: 1e308 }, key), /exp/],
    ['10: no expiry', () => sign({ ...claims, exp: undefined }, key), /exp/],
    ['10: issued in the future', () => sign(span(60, 600), key), /not valid yet/],
    ['10: not to be used yet', () => sign({ ...claims, nbf: now() + 60 }, key), /not valid yet/],
    ['10: claims that are no object', () => sign('null', key), /claims/],
    ['of 9 KB', () => sign({ ...claims, extra: 'x'.repeat(7000) }, key), /too long/],
  ]
  for (const [title, make, why] of forged) {
    it(`is refused on every route: ${title}`, async () => {
      await expectRefused(`Bearer ${await make()}`, why)
    })
  }

  it('made no request to an address that a token named, and ended no session', async () => {
    expect(trapped).to.equal(0)
    expect(await session.call('ping')).to.deep.include({ result: {} })
  })

  it('3: counts until five seconds after its expiry, and then no more', async () => {
    const dated = sign(span(-60, 60), key)
    const headers = { Authorization: `Bearer ${dated}` }
    const { exp = 0 } = decodeJwt(dated)
    offsetMs = (exp + 3) * 1000 - Date.now()
    expect((await ask(artefact, { headers })).status).to.equal(200)
    offsetMs = (exp + 6) * 1000 - Date.now()
    await expectRefused(`Bearer ${dated}`, /has expired/)
  })

  it('without a scope is told all scopes it needs, with 403', async () => {
    const bare = await provider.token(serving.url)
    for (const [route, answer] of await everywhere(`Bearer ${bare}`)) {
      expect(answer.status, route).to.equal(403)
      const challenge = answer.headers['www-authenticate']
      expect(challenge).to.contain('error="insufficient_scope"').and.contain('scope="mcp:read"')
      expect(challenge).to.contain('resource_metadata="')
    }
  })

  it('of the greater scope reads as well', async () => {
    const headers = { Authorization: `Bearer ${await provider.token(serving.url, 'mcp:write')}` }
    expect((await ask(artefact, { headers })).status).to.equal(200)
  })

  for (const [title, other] of [
    ['person', { sub: 'somebody-else' }],
    ['client', { client_id: 'another-agent' }],
  ] as const) {
    it(`of another ${title} finds no session of the first`, async () => {
      const headers = { Authorization: `Bearer ${sign({ ...claims, ...other }, key)}` }
      const posted = await session.post(rpc('ping'), headers)
      expect(posted.status).to.equal(404)
      const ended = await ask(serving.url, {
        method: 'DELETE',
        headers: { ...session.headers, ...headers },
      })
      expect(ended.status).to.equal(404)
      expect(await session.call('ping')).to.deep.include({ result: {} })
    })
  }

  it('that is renewed keeps the session', async () => {
    const renewed = await provider.token(serving.url, 'mcp:read mcp:write')
    expect(renewed).not.to.equal(token)
    const answer = await session.post(rpc('ping'), { Authorization: `Bearer ${renewed}` })
    expect(answer.status).to.equal(200)
  })

  it('does not help against the guards: 29–31', async () => {
    const headers = { ...postHeaders, Authorization: `Bearer ${token}` }
    const send = (other: Record<string, string | string[]>) =>
      ask(serving.url, {
        method: 'POST',
        headers: { ...headers, ...other },
        body: initializeBody(),
      })
    const twice = await send({ authorization: [`Bearer ${token}`, `Bearer ${token}`] })
    expect(twice.status).to.equal(400)
    expect((await send({ Host: 'evil.example' })).status).to.equal(403)
    expect((await send({ Origin: 'https://evil.example' })).status).to.equal(403)
    expect((await send({ Origin: 'null' })).status).to.equal(403)
  })

  it('comes from where the metadata of the resource says', async () => {
    for (const path of ['/mcp', '']) {
      const answer = await ask(`${serving.base}/.well-known/oauth-protected-resource${path}`)
      expect(answer.status).to.equal(200)
      expect(answer.headers['content-type']).to.equal('application/json')
      expect(answer.json).to.deep.equal({
        resource: serving.url,
        authorization_servers: [provider.issuer],
        scopes_supported: ['mcp:read'],
        bearer_methods_supported: ['header'],
        resource_name: 'service-cli',
      })
    }
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

  async function pem(): Promise<string> {
    return exportSPKI((await importJWK(publicOf(key), 'ES256')) as CryptoKey)
  }

  async function withOwnKey(member: 'jwk' | 'jku' | 'x5u'): Promise<string> {
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
