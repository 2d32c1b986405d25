import { expect } from 'chai'
import { ask, type RawSession } from '../../helpers/mcp.ts'
import { newKey, sign } from '../../helpers/openid.ts'
import { OAuthServers } from './oauth-servers.ts'

const minute = 60_000

describe('the keys of the provider', () => {
  let servers: OAuthServers

  afterEach(() => servers?.close())

  it('change without notice, and no token is refused', async () => {
    const [first, second, third] = [await newKey('1'), await newKey('2'), await newKey('3')]
    servers = await OAuthServers.open({ keys: [first], limits: { unknownKeyCooldownMs: 1 } })
    // The provider gives no notice.
    for (const keys of [[first], [second, first], [third]]) {
      servers.provider.useKeys(keys)
      const token = await servers.token()
      const statuses = await Promise.all([1, 2, 3, 4].map(() => servers.download(token)))
      expect(statuses).to.deep.equal([200, 200, 200, 200])
    }
    expect(servers.provider.keyRequests).to.be.within(3, 6)
  })

  it('stop working when they are not published any more, also for tokens seen before', async () => {
    const [first, second] = [await newKey('1'), await newKey('2')]
    servers = await OAuthServers.open({ keys: [first] })
    const old = await servers.token()
    const session = await servers.session(old)
    expect(await servers.download(old)).to.equal(200)
    servers.provider.useKeys([second])
    servers.forward.ms += 9 * minute
    await servers.expectRefused(session, `Bearer ${sign({}, second)}`)
    await servers.expectRefused(session, `Bearer ${old}`, /not signed with a key of the provider/)
    expect(await servers.download(await servers.token())).to.equal(200)
  })

  it('are not asked for by a flood of made-up names', async () => {
    servers = await OAuthServers.open({ keys: [await newKey('1')] })
    const token = await servers.token()
    expect(await servers.download(token)).to.equal(200)
    const before = servers.provider.asked.length
    const forged = await newKey('made-up')
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, at) =>
        servers.download(sign({ at }, { ...forged, kid: `made-up-${at}` })),
      ),
    )
    expect(new Set(answers)).to.deep.equal(new Set([401]))
    // The time of the test is short against the five seconds that must lie between two.
    expect(servers.provider.asked.length - before).to.be.within(1, 3)
    expect(await servers.download(token)).to.equal(200)
  })

  it('go on working while it is down; a new one has to wait', async () => {
    const [first, second] = [await newKey('1'), await newKey('2')]
    servers = await OAuthServers.open({ keys: [first] })
    const token = await servers.token()
    const session = await servers.session(token)
    const renewed = await servers.signed({ exp: Math.floor(Date.now() / 1000) + 7200 }, first)
    await servers.provider.suspend()
    servers.forward.ms += 60 * minute
    expect(await servers.download(renewed)).to.equal(200)
    await servers.expectRefused(session, `Bearer ${token}`, /has expired/)
    expect(await servers.download(sign({}, second))).to.equal(503)
  })

  it('are not needed to start; until it answers, tokens get 503 and a time to come back', async () => {
    servers = await OAuthServers.open({ keys: [await newKey('1')] })
    const token = await servers.token()
    await servers.provider.suspend()
    await expectUnavailable()
    expect((await ask(servers.artefact)).status).to.equal(401)
    expect((await ask(`${servers.serving.base}/readyz`)).status).to.equal(200)
    await servers.provider.resume()
    servers.forward.ms += minute
    const session: RawSession = await servers.session(token)
    expect(await session.call('ping')).to.deep.include({ result: {} })

    async function expectUnavailable(): Promise<void> {
      const headers = { Authorization: `Bearer ${token}` }
      const answer = await ask(servers.artefact, { headers })
      expect(answer.status).to.equal(503)
      expect(answer.headers).not.to.have.property('www-authenticate')
      expect(Number(answer.headers['retry-after'])).to.be.within(1, 60)
      expect(answer.json).to.deep.include({ error: 'temporarily_unavailable' })
      expect(answer.json.error_description).to.contain('provider does not answer')
    }
  })

  it('are tried by nobody for long; tokens that they signed are no tries', async () => {
    const key = await newKey('1')
    servers = await OAuthServers.open({ keys: [key], limits: { maxAuthFailures: 3 } })
    const token = await servers.token()
    const expired = await servers.signed({ iat: 1000, exp: 2000 }, key)
    const forged = await servers.signed({}, await newKey('1'))
    const statuses: number[] = []
    for (let at = 0; at < 5; at++) statuses.push(await servers.download(expired))
    for (let at = 0; at < 5; at++) statuses.push(await servers.download(forged))
    expect(statuses).to.deep.equal([401, 401, 401, 401, 401, 401, 401, 401, 429, 429])
    expect(await servers.download(token)).to.equal(200)
    expect(await servers.download(expired)).to.equal(401)
    expect((await ask(servers.artefact)).status).to.equal(401)
    const headers = { Authorization: `Bearer ${forged}` }
    const { headers: answered } = await ask(servers.artefact, { headers })
    expect(Number(answered['retry-after'])).to.be.within(1, 60)
    servers.forward.ms += minute
    expect(await servers.download(forged)).to.equal(401)
  })
})
