import { expect } from 'chai'
import { decodeProtectedHeader } from 'jose'
import { ask, type RawSession } from '../helpers/mcp.ts'
import { newKey, sign } from '../helpers/openid.ts'
import { OAuthRoom } from './oauth-room.ts'
import { until } from './until.ts'

const minute = 60_000

describe('the keys of the provider', function () {
  this.timeout(20_000)
  let room: OAuthRoom

  afterEach(() => room?.close())

  it('change while requests flow, and none is lost', async () => {
    const [first, second, third] = [await newKey('1'), await newKey('2'), await newKey('3')]
    room = await OAuthRoom.open({ keys: [first], limits: { unknownKeyCooldownMs: 1 } })
    const statuses: number[] = []
    const used = new Set<string | undefined>()
    let isFlowing = true
    let token = await room.token()
    const flow = async () => {
      while (isFlowing) {
        used.add(decodeProtectedHeader(token).kid)
        statuses.push(await room.download(token))
      }
    }
    const flowing = Promise.all([flow(), flow(), flow(), flow()])
    const passes = (count: number) => until(() => statuses.length >= count, `${count} requests`)
    await passes(20)
    // At once, and the old one is gone a moment later: the provider gave no notice.
    room.provider.useKeys([second, first])
    token = await room.token()
    await passes(statuses.length + 20)
    room.provider.useKeys([third])
    token = await room.token()
    await passes(statuses.length + 20)
    isFlowing = false
    await flowing
    expect([...used]).to.deep.equal(['1', '2', '3'])
    expect(new Set(statuses)).to.deep.equal(new Set([200]))
    expect(room.provider.keyRequests).to.be.within(3, 6)
  })

  it('stop working when they are not published any more, also for tokens seen before', async () => {
    const [first, second] = [await newKey('1'), await newKey('2')]
    room = await OAuthRoom.open({ keys: [first] })
    const old = await room.token()
    const session = await room.session(old)
    expect(await room.download(old)).to.equal(200)
    room.provider.useKeys([second])
    room.forward.ms += 9 * minute
    await room.expectRefused(session, `Bearer ${sign({}, second)}`)
    await room.expectRefused(session, `Bearer ${old}`, /not signed with a key of the provider/)
    expect(await room.download(await room.token())).to.equal(200)
  })

  it('are not asked for by a flood of made-up names', async () => {
    room = await OAuthRoom.open({ keys: [await newKey('1')] })
    const token = await room.token()
    expect(await room.download(token)).to.equal(200)
    const before = room.provider.asked.length
    const forged = await newKey('made-up')
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, at) =>
        room.download(sign({ at }, { ...forged, kid: `made-up-${at}` })),
      ),
    )
    expect(new Set(answers)).to.deep.equal(new Set([401]))
    // The time of the test is short against the five seconds that must lie between two.
    expect(room.provider.asked.length - before).to.be.within(1, 3)
    expect(await room.download(token)).to.equal(200)
  })

  it('go on working while it is down; a new one has to wait', async () => {
    const [first, second] = [await newKey('1'), await newKey('2')]
    room = await OAuthRoom.open({ keys: [first] })
    const token = await room.token()
    const session = await room.session(token)
    const renewed = await room.signed({ exp: Math.floor(Date.now() / 1000) + 7200 }, first)
    await room.provider.suspend()
    room.forward.ms += 60 * minute
    expect(await room.download(renewed)).to.equal(200)
    await room.expectRefused(session, `Bearer ${token}`, /has expired/)
    expect(await room.download(sign({}, second))).to.equal(503)
  })

  it('are not needed to start; until it answers, tokens get 503 and a time to come back', async () => {
    room = await OAuthRoom.open({ keys: [await newKey('1')] })
    const token = await room.token()
    await room.provider.suspend()
    await expectUnavailable()
    expect((await ask(room.artefact)).status).to.equal(401)
    expect((await ask(`${room.serving.base}/readyz`)).status).to.equal(200)
    await room.provider.resume()
    room.forward.ms += minute
    const session: RawSession = await room.session(token)
    expect(await session.call('ping')).to.deep.include({ result: {} })

    async function expectUnavailable(): Promise<void> {
      const headers = { Authorization: `Bearer ${token}` }
      const answer = await ask(room.artefact, { headers })
      expect(answer.status).to.equal(503)
      expect(answer.headers).not.to.have.property('www-authenticate')
      expect(Number(answer.headers['retry-after'])).to.be.within(1, 60)
      expect(answer.json).to.deep.include({ error: 'temporarily_unavailable' })
      expect(answer.json.error_description).to.contain('provider does not answer')
    }
  })

  it('are tried by nobody for long; tokens that they signed are no tries', async () => {
    const key = await newKey('1')
    room = await OAuthRoom.open({ keys: [key], limits: { maxAuthFailures: 3 } })
    const token = await room.token()
    const expired = await room.signed({ iat: 1000, exp: 2000 }, key)
    const forged = await room.signed({}, await newKey('1'))
    const statuses: number[] = []
    for (let at = 0; at < 5; at++) statuses.push(await room.download(expired))
    for (let at = 0; at < 5; at++) statuses.push(await room.download(forged))
    expect(statuses).to.deep.equal([401, 401, 401, 401, 401, 401, 401, 401, 429, 429])
    expect(await room.download(token)).to.equal(200)
    expect(await room.download(expired)).to.equal(401)
    expect((await ask(room.artefact)).status).to.equal(401)
    const headers = { Authorization: `Bearer ${forged}` }
    const { headers: answered } = await ask(room.artefact, { headers })
    expect(Number(answered['retry-after'])).to.be.within(1, 60)
    room.forward.ms += minute
    expect(await room.download(forged)).to.equal(401)
  })

  it('are asked for once, however many tokens come first', async () => {
    room = await OAuthRoom.open({ keys: [await newKey('1')] })
    const tokens = await Promise.all(Array.from({ length: 8 }, () => room.token()))
    const statuses = await Promise.all(tokens.map(token => room.download(token)))
    expect(new Set(statuses)).to.deep.equal(new Set([200]))
    expect(room.provider.keyRequests).to.equal(1)
  })
})
