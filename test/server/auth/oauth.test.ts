import { createHmac } from 'node:crypto'
import { createServer } from 'node:http'
import { expect } from 'chai'
import { decodeJwt, type JWK } from 'jose'
import { silentLogger } from '../../../src/lib/util/logger.ts'
import { createOAuth } from '../../../src/server/auth/oauth.ts'
import { ask, type RawSession, rpc } from '../../helpers/mcp.ts'
import { encode, newKey, publicOf, sign, signAs } from '../../helpers/openid.ts'
import { listenStateless } from '../../helpers/stateless.ts'
import { openOAuthServers, type OAuthServers } from './oauth-servers.ts'
import { listening } from '../../helpers/listening.ts'

const nowSeconds = () => Math.floor(Date.now() / 1000)

describe('a server with OAuth', () => {
  let key: JWK
  let servers: OAuthServers
  let token: string
  let claims: Record<string, any>
  let session: RawSession
  /** Where attackers would like the server to fetch keys. */
  let trapUrl: string
  let trapped = 0

  before(async () => {
    key = await newKey('signing')
    const trap = createServer((_req, res) => {
      trapped++
      res.end(JSON.stringify({ keys: [publicOf(key)] }))
    })
    trapUrl = `http://127.0.0.1:${await listening(trap)}/keys`
    servers = await openOAuthServers({ keys: [key], settings: { writeScope: 'mcp:write' } })
    token = await servers.token()
    claims = decodeJwt(token)
    session = await servers.session(token)
  })

  it('accepts a token that the provider issued for it, on both transports and for artefacts', async () => {
    const accepted = await servers.token()
    const own = await servers.session(accepted)
    await servers.everywhere(own, `Bearer ${accepted}`, (answer, route) => {
      expect(answer.status, `${route}: ${answer.text}`).to.be.within(200, 204)
    })
    const listed = await session.call('resources/list')
    expect(listed.result.resources).not.to.have.lengthOf(0)
  })

  it('asks for a token where none is sent, or none in the right place', async () => {
    await servers.expectRefused(session, null)
    const wrong = ['Bearer', `Basic ${token}`, token, `Bearer x, Bearer ${token}`]
    for (const authorization of wrong) await servers.expectRefused(session, authorization)
    const { status } = await ask(`${servers.artefact}?access_token=${token}`)
    expect(status).to.equal(401)
  })

  it('ends the streams of a token when it ends, on both transports', async () => {
    // Over for the provider, and for four seconds more good enough here.
    const exp = nowSeconds() - 1
    const ending = await servers.signed({ iat: exp - 60, exp }, key)
    const headers = { Authorization: `Bearer ${ending}` }
    const streams = await Promise.all([
      servers.session(ending).then(own => own.listen()),
      listenStateless(servers.serving.url, {}, 1, headers),
    ])
    const staying = await session.listen()
    await Promise.all(streams.map(stream => stream.untilEnded()))
    await servers.expectRefused(session, `Bearer ${ending}`, /has expired/)
    expect(staying.ended).to.equal(false)
  })

  it('tells a token without a scope which ones it needs, with 403', async () => {
    const bare = await servers.provider.token(servers.serving.url)
    await servers.everywhere(session, `Bearer ${bare}`, (answer, route) => {
      expect(answer.status, route).to.equal(403)
      const challenge = answer.headers['www-authenticate']
      expect(challenge).to.contain('error="insufficient_scope"').and.contain('scope="mcp:read"')
      expect(challenge).to.contain('resource_metadata="')
    })
  })

  it('lets a token with the write scope drain events, and tells others the scopes for it', async () => {
    const params = { uri: 'events://session/none?drain=true' }
    const answer = async (scope: string) => {
      const own = await servers.session(await servers.signed({ scope }, key))
      return own.post(rpc('resources/read', params))
    }
    const refused = await answer('mcp:read')
    expect(refused.status).to.equal(403)
    expect(refused.headers['www-authenticate']).to.contain('scope="mcp:read mcp:write"')
    expect((await answer('mcp:write')).status).to.equal(200)
  })

  for (const [title, other] of [
    ['person', { sub: 'somebody-else' }],
    ['client', { client_id: 'another-agent' }],
  ] as const) {
    it(`shows the session of a caller to no other ${title}`, async () => {
      const headers = { Authorization: `Bearer ${await servers.signed(other, key)}` }
      expect((await session.post(rpc('ping'), headers)).status).to.equal(404)
      const all = { ...session.headers, ...headers }
      const ended = await ask(servers.serving.url, { method: 'DELETE', headers: all })
      expect(ended.status).to.equal(404)
      expect(await session.call('ping')).to.deep.include({ result: {} })
    })
  }

  it('publishes where tokens come from', async () => {
    for (const path of ['/mcp', '']) {
      const answer = await ask(
        `${servers.serving.base}/.well-known/oauth-protected-resource${path}`,
      )
      expect(answer.headers['content-type']).to.equal('application/json')
      expect(answer.json).to.deep.equal({
        resource: servers.serving.url,
        authorization_servers: [servers.provider.issuer],
        scopes_supported: ['mcp:read', 'mcp:write'],
        bearer_methods_supported: ['header'],
        resource_name: 'service-cli',
      })
    }
  })

  const header = { alg: 'ES256', typ: 'at+jwt', kid: 'signing' }
  const parts = () => token.split('.') as [string, string, string]
  const resigned = (other: object) => signAs({ ...header, ...other }, claims, key)
  const inHeader = (alg: string) => encode(JSON.stringify({ ...header, alg }))

  function symmetric(): string {
    const input = `${inHeader('HS256')}.${parts()[1]}`
    const secret = JSON.stringify(publicOf(key))
    return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`
  }

  async function withOwnKey(member: 'jwk' | 'jku'): Promise<string> {
    const own = await newKey('own')
    return sign(claims, own, { [member]: member === 'jwk' ? publicOf(own) : trapUrl })
  }

  const attacks: [title: string, make: () => string | Promise<string>, why: RegExp][] = [
    ['alg none', () => `${inHeader('none')}.${parts()[1]}.${parts()[2]}`, /'alg'/],
    ['HS256 with the public key', symmetric, /'alg'/],
    [
      'other claims',
      () => [parts()[0], encode('{"sub":"root"}'), parts()[2]].join('.'),
      /signature/,
    ],
    ['an unknown kid', () => resigned({ kid: '__proto__' }), /no applicable key/],
    ['a key in the token', () => withOwnKey('jwk'), /no applicable key/],
    ['the address of a key', () => withOwnKey('jku'), /no applicable key/],
    ['another issuer', () => sign({ ...claims, iss: trapUrl }, key), /'iss'/],
    [
      'another server',
      () => servers.provider.token('http://127.0.0.1:1/mcp'),
      /'aud' .* it must contain http/,
    ],
    ['an ID token', () => sign(claims, key, { typ: 'JWT' }), /'typ'/],
    [
      'expired ten seconds ago',
      () => sign({ ...claims, exp: nowSeconds() - 10 }, key),
      /has expired/,
    ],
    ['no expiry', () => sign({ ...claims, exp: undefined }, key), /'exp'/],
    ['no subject', () => sign({ ...claims, sub: undefined }, key), /'sub'/],
    ['an opaque token', () => 'opaque-token-of-the-provider', /Invalid Compact JWS/],
  ]
  for (const [title, make, why] of attacks) {
    it(`refuses on every route: ${title}`, async () => {
      await servers.expectRefused(session, `Bearer ${await make()}`, why)
    })
  }

  it('made no request to an address that a token named, and ended no session', async () => {
    expect(trapped).to.equal(0)
    expect(await session.call('ping')).to.deep.include({ result: {} })
  })
})

describe('a server with OAuth and its provider', () => {
  let servers: OAuthServers
  const { now } = Date

  afterEach(async () => {
    Date.now = now
  })

  it('follows a change of keys, and refuses tokens of a key that is no longer published', async () => {
    const [first, second] = [await newKey('1'), await newKey('2')]
    servers = await openOAuthServers({ keys: [first] })
    const old = await servers.token()
    expect(await servers.download(old)).to.equal(200)
    servers.provider.useKeys([second])
    // The keys may be asked for again.
    Date.now = () => now() + 31_000
    const statuses = await Promise.all(
      [1, 2, 3].map(async () => servers.download(await servers.token())),
    )
    expect(statuses).to.deep.equal([200, 200, 200])
    expect(await servers.download(old)).to.equal(401)
    expect(servers.provider.keyRequests).to.equal(2)
  })

  it('starts while the provider is down; until it answers, tokens get 503', async () => {
    servers = await openOAuthServers({ keys: [await newKey('1')] })
    const token = await servers.token()
    await servers.provider.suspend()
    const headers = { Authorization: `Bearer ${token}` }
    const answer = await ask(servers.artefact, { headers })
    expect(answer.status).to.equal(503)
    expect(answer.headers).not.to.have.property('www-authenticate')
    expect(Number(answer.headers['retry-after'])).to.be.within(1, 60)
    expect(answer.json).to.deep.include({ error: 'temporarily_unavailable' })
    expect((await ask(servers.artefact)).status).to.equal(401)
    await servers.provider.resume()
    expect(await servers.download(token)).to.equal(200)
  })

  it('answers 429 to many guesses; tokens that the provider signed are none', async () => {
    const key = await newKey('1')
    servers = await openOAuthServers({ keys: [key], maxFailures: 3 })
    const expired = await servers.signed({ iat: 1000, exp: 2000 }, key)
    const forged = await servers.signed({}, await newKey('1'))
    const statuses: number[] = []
    for (const token of [expired, expired, expired, expired, forged, forged, forged, forged]) {
      statuses.push(await servers.download(token))
    }
    expect(statuses).to.deep.equal([401, 401, 401, 401, 401, 401, 401, 429])
    expect(await servers.download(await servers.token())).to.equal(200)
  })

  it('takes another audience and no scope, when the settings say so', async () => {
    const key = await newKey('signing')
    const settings = { audience: 'urn:studio:mcp', requiredScope: undefined }
    servers = await openOAuthServers({ keys: [key], settings })
    const claims = decodeJwt(await servers.token())
    const download = (aud: unknown) => servers.download(sign({ ...claims, aud }, key))
    expect(await download(['account', 'urn:studio:mcp'])).to.equal(200)
    expect(await download('account')).to.equal(401)
    const { headers } = await ask(servers.artefact)
    expect(headers['www-authenticate']).not.to.contain('scope=')
  })
})

describe('the metadata of a provider', () => {
  let base: string
  let documents: Record<string, object>
  let key: JWK

  beforeEach(async () => {
    key = await newKey('k')
    documents = { '/jwks': { keys: [publicOf(key)] } }
    const server = createServer((req, res) => {
      const found = documents[req.url ?? '']
      if (req.url === '/moved') return void res.writeHead(302, { Location: '/jwks' }).end()
      res.writeHead(found === undefined ? 404 : 200).end(JSON.stringify(found))
    })
    base = `http://127.0.0.1:${await listening(server)}`
  })

  /** The status of a token of the issuer. */
  async function statusAt(issuer: string): Promise<number> {
    const mcpUrl = () => 'http://127.0.0.1:1/mcp'
    const { policy } = createOAuth({ mode: 'oauth', issuer }, { mcpUrl, log: silentLogger })
    const [iat, exp] = [nowSeconds(), nowSeconds() + 60]
    const token = sign({ iss: issuer, aud: mcpUrl(), sub: 'ada', iat, exp }, key)
    const headers = { authorization: `Bearer ${token}` }
    const outcome = await policy.authenticate({ headers, peer: 'a' })
    return outcome.ok ? 200 : outcome.status
  }

  const oauth = '/.well-known/oauth-authorization-server'
  const openid = '/.well-known/openid-configuration'
  const places: [path: string, issuerPath: string][] = [
    [oauth, ''],
    [openid, ''],
    [`${oauth}/realms/a`, '/realms/a'],
    [`/realms/a${openid}`, '/realms/a'],
  ]
  for (const [path, issuerPath] of places) {
    it(`of ${issuerPath || '/'} are found at ${path}`, async () => {
      const issuer = base + issuerPath
      documents[path] = { issuer, jwks_uri: `${base}/jwks` }
      expect(await statusAt(issuer)).to.equal(200)
    })
  }

  const bad: [title: string, make: () => object][] = [
    ['of another issuer', () => ({ issuer: 'https://evil.example', jwks_uri: `${base}/jwks` })],
    ['without keys', () => ({ issuer: base })],
    [
      'with keys over plain http elsewhere',
      () => ({ issuer: base, jwks_uri: 'http://10.0.0.1/k' }),
    ],
    ['with keys in a file', () => ({ issuer: base, jwks_uri: 'file:///etc/passwd' })],
    ['with keys that have moved', () => ({ issuer: base, jwks_uri: `${base}/moved` })],
  ]
  for (const [title, make] of bad) {
    it(`${title} are not used, and the token is not refused for good`, async () => {
      documents[oauth] = make()
      expect(await statusAt(base)).to.equal(503)
    })
  }
})
