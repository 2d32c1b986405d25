import { expect } from 'chai'
import { decodeJwt } from 'jose'
import {
  auth,
  loggedIn,
  meCode,
  outcome,
  refresh,
  rotate,
  sharedAccountsServer,
  openAccountsServer,
  withMethods,
} from './harness.ts'

const day = 86_400_000

describe('refresh', () => {
  const registry = sharedAccountsServer()

  it('gives a further access token for an access token, and never a refresh token', async () => {
    const first = await registry.register()
    registry.clock.nowMs += 60_000
    const again = await refresh(registry, first.access_token)
    expect(again.status).to.equal(200)
    expect(again.headers['cache-control']).to.equal('no-store')
    expect(again.json).to.have.all.keys('access_token', 'token_type', 'expires_in', 'scope')
    const [before, after] = [decodeJwt(first.access_token), decodeJwt(again.json.access_token)]
    expect(after).to.include({ sid: before.sid, auth_time: before.auth_time })
    expect(after.jti).not.to.equal(before.jti)
    expect(after.exp).to.equal((before.exp ?? 0) + 60)
    expect(await meCode(registry, first.access_token)).to.equal('ok')
    expect((await refresh(registry, first.access_token, {})).status).to.equal(200)
  })

  it('rotates a refresh token in the body, whatever is beside it', async () => {
    let { refresh_token, access_token } = await registry.register()
    const forms = [
      () => rotate(registry, refresh_token),
      () => refresh(registry, access_token, { refresh_token }),
      () => refresh(registry, 'none', { refresh_token }),
    ]
    for (const form of forms) {
      const answer = await form()
      expect(answer.status, answer.text).to.equal(200)
      expect(answer.json.refresh_token).to.match(/^srt_/).and.not.equal(refresh_token)
      ;({ refresh_token } = answer.json)
      expect(await meCode(registry, answer.json.access_token)).to.equal('ok')
    }
  })

  it('returns the same refresh token again for a minute after a lost answer', async () => {
    const { refresh_token } = await registry.register()
    const first = await rotate(registry, refresh_token)
    registry.clock.nowMs += 59_999
    const again = await rotate(registry, refresh_token)
    expect(again.json.refresh_token).to.equal(first.json.refresh_token)
    expect(await meCode(registry, again.json.access_token)).to.equal('ok')
    expect((await rotate(registry, first.json.refresh_token)).status).to.equal(200)
  })

  it('ends the session when a used token comes back later', async () => {
    const { refresh_token, account } = await registry.register()
    const elsewhere = await loggedIn(registry, account.username)
    const next = await rotate(registry, refresh_token)
    registry.clock.nowMs += 61_000
    const replay = await rotate(registry, refresh_token)
    expect(outcome(replay)).to.deep.equal([401, 'refresh-reused'])
    expect((await rotate(registry, next.json.refresh_token)).json.code).to.equal('token-revoked')
    expect(await meCode(registry, next.json.access_token)).to.equal('token-revoked')
    expect(await meCode(registry, elsewhere.access_token)).to.equal('ok')
    const [entry] = await registry.audited('refresh.reused')
    expect(entry).to.include({ accountId: account.id, address: '127.0.0.1' })
  })

  it('gives one refresh token to fifty who ask with one at the same time', async () => {
    const { refresh_token } = await registry.register()
    const all = await Promise.all(Array.from({ length: 50 }, () => rotate(registry, refresh_token)))
    expect(new Set(all.map(({ status }) => status))).to.deep.equal(new Set([200]))
    const [next, ...others] = new Set(all.map(({ json }) => json.refresh_token))
    expect(others).to.deep.equal([])
    expect((await rotate(registry, next)).status).to.equal(200)
  })

  it('stops at the end of the session, however often it was done', async () => {
    let { access_token, refresh_token } = await registry.register()
    const endMs = registry.clock.nowMs + 30 * day
    while (registry.clock.nowMs < endMs - day / 2) {
      registry.clock.nowMs += day / 2
      const answer = await refresh(registry, access_token)
      expect(answer.status).to.equal(200)
      ;({ access_token } = answer.json)
      expect(decodeJwt(access_token).exp).to.be.at.most(endMs / 1000)
    }
    const late = await rotate(registry, refresh_token)
    expect(late.status).to.equal(200)
    ;({ refresh_token } = late.json)
    registry.clock.nowMs = endMs
    expect((await rotate(registry, refresh_token)).status).to.equal(401)
    expect((await refresh(registry, access_token)).json.code).to.equal('token-revoked')
    registry.clock.nowMs = endMs + 6000
    expect((await refresh(registry, access_token)).json.code).to.equal('token-expired')
  })

  it('gives nothing when the session ends while it is under way', async () => {
    const other = await openAccountsServer({
      wrap: store =>
        withMethods(store, {
          async rotateSession(id, ...rotation) {
            await store.endSessions({ id })
            return store.rotateSession(id, ...rotation)
          },
        }),
    })
    const { refresh_token } = await other.register()
    const answer = await rotate(other, refresh_token)
    expect(outcome(answer)).to.deep.equal([401, 'token-revoked'])
  })
})

describe('sessions', () => {
  const registry = sharedAccountsServer()

  it('end with logout, this one or all of them', async () => {
    const first = await registry.register()
    const { username } = first.account
    const second = await loggedIn(registry, username)
    const out = (token: string, body?: object) =>
      registry.call('POST', `${auth}/logout`, { token, body })
    expect((await out(first.access_token)).status).to.equal(204)
    expect(await meCode(registry, first.access_token)).to.equal('token-revoked')
    expect(await meCode(registry, second.access_token)).to.equal('ok')
    const third = await loggedIn(registry, username)
    expect((await out(second.access_token, { all: true })).status).to.equal(204)
    for (const { access_token, refresh_token } of [second, third]) {
      expect(await meCode(registry, access_token)).to.equal('token-revoked')
      expect((await rotate(registry, refresh_token)).json.code).to.equal('token-revoked')
    }
  })

  it('end with the account', async () => {
    const { access_token, refresh_token, account } = await registry.register()
    await registry.store.disableAccount(account.id, registry.clock.nowMs)
    expect(await meCode(registry, access_token)).to.equal('token-revoked')
    expect((await rotate(registry, refresh_token)).json.code).to.equal('token-revoked')
  })
})
