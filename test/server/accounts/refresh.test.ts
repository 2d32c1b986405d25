import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { loggedIn, meCode, refresh, auth, withAccountsServer } from './harness.ts'

const day = 86_400_000

describe('refresh', () => {
  it('gives a further access token for an access token, and never a refresh token', () =>
    withAccountsServer(async registry => {
      const first = await registry.register('alice')
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
    }))

  it('takes an empty JSON object for no body', () =>
    withAccountsServer(async registry => {
      const { access_token } = await registry.register('alice')
      expect((await refresh(registry, access_token, {})).status).to.equal(200)
    }))

  it('rotates a refresh token sent as Bearer, or in the body, alone or beside its access token', () =>
    withAccountsServer(async registry => {
      let { refresh_token, access_token } = await registry.register('alice')
      const forms = [
        () => refresh(registry, refresh_token),
        () => registry.call('POST', `${auth}/refresh`, { body: { refresh_token } }),
        () => refresh(registry, access_token, { refresh_token }),
        () => refresh(registry, refresh_token, { refresh_token }),
      ]
      for (const form of forms) {
        const answer = await form()
        expect(answer.status, answer.text).to.equal(200)
        expect(answer.json.refresh_token).to.match(/^srt_/).and.not.equal(refresh_token)
        ;({ refresh_token } = answer.json)
        expect(await meCode(registry, answer.json.access_token)).to.equal('ok')
      }
      // The access token beside may be expired by then.
      registry.clock.nowMs += 2 * day
      expect((await refresh(registry, access_token, { refresh_token })).status).to.equal(200)
    }))

  it('refuses two tokens that disagree, and writes it down', () =>
    withAccountsServer(async registry => {
      const [alice, other] = [await registry.register('alice'), await registry.register('bob')]
      const second = await loggedIn(registry)
      const wrong: [token: string, refresh_token: string][] = [
        [other.access_token, alice.refresh_token],
        [second.access_token, alice.refresh_token],
        [second.refresh_token, alice.refresh_token],
        ['nonsense', alice.refresh_token],
      ]
      for (const [token, refresh_token] of wrong) {
        const answer = await refresh(registry, token, { refresh_token })
        expect([answer.status, answer.json.code]).to.deep.equal([401, 'token-invalid'])
      }
      expect(await registry.audited('refresh.mismatch')).to.have.length(2)
      expect((await refresh(registry, alice.refresh_token)).status).to.equal(200)
    }))

  it('returns the same pair again for a minute after a lost answer', () =>
    withAccountsServer(async registry => {
      const { refresh_token } = await registry.register('alice')
      const first = await refresh(registry, refresh_token)
      registry.clock.nowMs += 59_999
      const again = await refresh(registry, refresh_token)
      expect(again.json.refresh_token).to.equal(first.json.refresh_token)
      const claims = decodeJwt(again.json.access_token)
      expect(claims).to.deep.equal(decodeJwt(first.json.access_token))
      expect((await refresh(registry, first.json.refresh_token)).status).to.equal(200)
    }))

  it('ends the session when a used token comes back later', () =>
    withAccountsServer(async registry => {
      const { refresh_token, account } = await registry.register('alice')
      const elsewhere = await loggedIn(registry)
      const next = await refresh(registry, refresh_token)
      registry.clock.nowMs += 61_000
      const replay = await refresh(registry, refresh_token)
      expect([replay.status, replay.json.code]).to.deep.equal([401, 'refresh-reused'])
      expect((await refresh(registry, next.json.refresh_token)).json.code).to.equal('token-revoked')
      expect(await meCode(registry, next.json.access_token)).to.equal('token-revoked')
      expect(await meCode(registry, elsewhere.access_token)).to.equal('ok')
      const [entry] = await registry.audited('refresh.reused')
      expect(entry).to.include({ accountId: account.id, address: '127.0.0.1' })
    }))

  it('ends the session at once when the token is two steps old', () =>
    withAccountsServer(async registry => {
      const { refresh_token } = await registry.register('alice')
      const second = await refresh(registry, refresh_token)
      const third = await refresh(registry, second.json.refresh_token)
      expect((await refresh(registry, refresh_token)).json.code).to.equal('refresh-reused')
      expect(await meCode(registry, third.json.access_token)).to.equal('token-revoked')
    }))

  it('makes one step when fifty ask with one token at the same time', () =>
    withAccountsServer(async registry => {
      const { refresh_token, access_token } = await registry.register('alice')
      const all = await Promise.all(
        Array.from({ length: 50 }, () => refresh(registry, refresh_token)),
      )
      expect(new Set(all.map(({ status }) => status))).to.deep.equal(new Set([200]))
      expect(new Set(all.map(({ json }) => json.refresh_token)).size).to.equal(1)
      const { sid } = decodeJwt(access_token)
      expect((await registry.store.findSession(String(sid)))?.session.counter).to.equal(1)
    }))

  it('gives nothing when the session ends while it is under way', () =>
    withAccountsServer(
      async registry => {
        const { refresh_token } = await registry.register('alice')
        const answer = await refresh(registry, refresh_token)
        expect([answer.status, answer.json.code]).to.deep.equal([401, 'token-revoked'])
      },
      {
        wrap: store => ({
          ...store,
          async rotateSession(id, counter, nowMs) {
            const state = await store.findSession(id)
            await store.revokeSession(state?.account.id ?? '', id, 'logout', nowMs)
            return store.rotateSession(id, counter, nowMs)
          },
        }),
      },
    ))

  it('stops at the end of the session, however often it was done', () =>
    withAccountsServer(async registry => {
      let { access_token } = await registry.register('alice')
      const endMs = registry.clock.nowMs + 30 * day
      for (let step = 0; step < 60 && registry.clock.nowMs < endMs - day / 2; step++) {
        registry.clock.nowMs += day / 2
        const answer = await refresh(registry, access_token)
        expect(answer.status).to.equal(200)
        ;({ access_token } = answer.json)
        expect(decodeJwt(access_token).exp).to.be.at.most(endMs / 1000)
      }
      registry.clock.nowMs = endMs
      expect((await refresh(registry, access_token)).json.code).to.equal('token-revoked')
      registry.clock.nowMs = endMs + 6000
      expect((await refresh(registry, access_token)).json.code).to.equal('token-expired')
    }))

  it('refuses an expired access token alone', () =>
    withAccountsServer(async registry => {
      const { access_token } = await registry.register('alice')
      registry.clock.nowMs += day + 6000
      const answer = await refresh(registry, access_token)
      expect([answer.status, answer.json.code]).to.deep.equal([401, 'token-expired'])
    }))

  it('works from an address whose other refreshes were refused', () =>
    withAccountsServer(async registry => {
      const { access_token, refresh_token } = await registry.register('alice')
      for (let count = 0; count < 30; count++) {
        expect((await refresh(registry, count % 2 === 0 ? 'nonsense' : 'srt_x')).status).to.equal(
          401,
        )
      }
      expect((await refresh(registry, access_token)).status).to.equal(200)
      expect((await refresh(registry, refresh_token)).status).to.equal(200)
    }))
})
