import { expect } from 'chai'
import { decodeJwt, type JWK } from 'jose'
import {
  ask,
  Events,
  initializeBody,
  postHeaders,
  type RawSession,
  rpc,
} from '../../helpers/mcp.ts'
import { newKey, sign } from '../../helpers/openid.ts'
import { stateless, statelessHeaders, statelessRequest } from '../../helpers/stateless.ts'
import { OAuthServers } from './oauth-servers.ts'

describe('an access token of the provider', () => {
  let key: JWK
  let servers: OAuthServers
  let token: string
  let session: RawSession

  before(async () => {
    key = await newKey('signing')
    const settings = { writeScope: 'mcp:write' }
    servers = await OAuthServers.open({ keys: [key], settings })
    token = await servers.token()
    session = await servers.session(token)
  })

  afterEach(() => {
    servers.forward.ms = 0
  })

  after(() => servers?.close())

  it('for this server is let in on every route', async () => {
    const headers = { Authorization: `Bearer ${token}` }
    expect((await ask(servers.artefact, { headers })).text).to.equal('a body')
    const listed = await session.call('resources/list')
    expect(listed.result.resources).not.to.have.lengthOf(0)
    const stream = await session.listen()
    stream.close()
    const method = 'server/discover'
    const modern = await ask(servers.serving.url, {
      method: 'POST',
      headers: { ...statelessHeaders(method), ...headers },
      body: JSON.stringify(statelessRequest(method)),
    })
    expect(modern.json.result.supportedVersions).to.include(stateless)
  })

  it('is asked for where none is sent, or none in the right place', async () => {
    await servers.expectRefused(session, null)
    const wrong = ['Bearer', `Basic ${token}`, `DPoP ${token}`, token, `Bearer x, Bearer ${token}`]
    for (const authorization of wrong) await servers.expectRefused(session, authorization)
    const inQuery = await ask(`${servers.serving.url}?access_token=${token}`, {
      method: 'POST',
      headers: postHeaders,
      body: initializeBody(),
    })
    expect(inQuery.status).to.equal(401)
  })

  it('counts until five seconds after its expiry, and then no more', async () => {
    const { exp = 0 } = decodeJwt(token)
    servers.forward.ms = (exp + 3) * 1000 - Date.now()
    expect(await servers.download(token)).to.equal(200)
    servers.forward.ms = (exp + 6) * 1000 - Date.now()
    await servers.expectRefused(session, `Bearer ${token}`, /has expired/)
  })

  it('ends its streams when it ends, on both transports', async () => {
    // Over for the provider, and for four seconds more good enough here.
    const exp = Math.floor(Date.now() / 1000) - 1
    const ending = await servers.signed({ iat: exp - 60, exp }, key)
    const headers = { Authorization: `Bearer ${ending}` }
    const method = 'subscriptions/listen'
    const params = { notifications: {} }
    const streams = await Promise.all([
      servers.session(ending).then(own => own.listen()),
      Events.open(
        servers.serving.url,
        { ...statelessHeaders(method, params), ...headers },
        JSON.stringify(statelessRequest(method, params)),
      ),
    ])
    const staying = await session.listen()
    await Promise.all(streams.map(stream => stream.untilEnded()))
    await servers.expectRefused(session, `Bearer ${ending}`, /has expired/)
    expect(staying.ended).to.equal(false)
    staying.close()
  })

  it('without a scope is told all scopes it needs, with 403', async () => {
    const bare = await servers.provider.token(servers.serving.url)
    await servers.everywhere(session, `Bearer ${bare}`, (answer, route) => {
      expect(answer.status, route).to.equal(403)
      const challenge = answer.headers['www-authenticate']
      expect(challenge).to.contain('error="insufficient_scope"').and.contain('scope="mcp:read"')
      expect(challenge).to.contain('resource_metadata="')
    })
  })

  it('without the scope for changes answers no note, and is told the scopes for it', async () => {
    const params = { name: 'answer_note', arguments: { id: '1', text: 'done' } }
    const answer = async (scope: string) => {
      const own = await servers.session(await servers.signed({ scope }, key))
      return own.post(rpc('tools/call', params))
    }
    const refused = await answer('mcp:read')
    expect(refused.status).to.equal(403)
    const challenge = refused.headers['www-authenticate']
    expect(challenge).to.contain('error="insufficient_scope"')
    expect(challenge).to.contain('scope="mcp:read mcp:write"').and.contain('resource_metadata="')
    expect((await answer('mcp:read mcp:write')).status).to.equal(200)
  })

  for (const [title, other] of [
    ['person', { sub: 'somebody-else' }],
    ['client', { client_id: 'another-agent' }],
  ] as const) {
    it(`of another ${title} finds no session of the first`, async () => {
      const headers = { Authorization: `Bearer ${await servers.signed(other, key)}` }
      expect((await session.post(rpc('ping'), headers)).status).to.equal(404)
      const stream = { ...session.headers, ...headers, Accept: 'text/event-stream' }
      expect((await ask(servers.serving.url, { headers: stream })).status).to.equal(404)
      const ended = await ask(servers.serving.url, {
        method: 'DELETE',
        headers: { ...session.headers, ...headers },
      })
      expect(ended.status).to.equal(404)
      expect(await session.call('ping')).to.deep.include({ result: {} })
    })
  }

  it('that is renewed keeps the session', async () => {
    const renewed = await servers.token('mcp:read mcp:write')
    expect(renewed).not.to.equal(token)
    const answer = await session.post(rpc('ping'), { Authorization: `Bearer ${renewed}` })
    expect(answer.status).to.equal(200)
  })

  it('comes from where the metadata of the resource says', async () => {
    for (const path of ['/mcp', '']) {
      const url = `${servers.serving.base}/.well-known/oauth-protected-resource${path}`
      const answer = await ask(url)
      expect(answer.status).to.equal(200)
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
})

describe('the settings of a provider', () => {
  it('may name another audience, and no scope', async () => {
    const key = await newKey('signing')
    const settings: object = { audience: 'urn:studio:mcp', requiredScope: undefined }
    const servers = await OAuthServers.open({ keys: [key], settings })
    try {
      const claims = decodeJwt(await servers.token())
      const download = (aud: unknown) => servers.download(sign({ ...claims, aud }, key))
      expect(await download('urn:studio:mcp')).to.equal(200)
      expect(await download(['account', 'urn:studio:mcp'])).to.equal(200)
      expect(await download('account')).to.equal(401)
      expect(await servers.download(await servers.token())).to.equal(401)
      const { headers } = await ask(servers.artefact)
      expect(headers['www-authenticate']).not.to.contain('scope=')
    } finally {
      await servers.close()
    }
  })
})
