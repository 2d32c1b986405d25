import { expect } from 'chai'
import { loggedIn, meCode, refresh, auth, withAccountsServer } from './harness.ts'

describe('sessions', () => {
  it('end with logout, this one or all of them', () =>
    withAccountsServer(async registry => {
      const [first, second] = [await registry.register('alice'), await loggedIn(registry)]
      const out = (token: string, body?: object) =>
        registry.call('POST', `${auth}/logout`, { token, ...(body === undefined ? {} : { body }) })
      expect((await out(first.access_token)).status).to.equal(204)
      expect(await meCode(registry, first.access_token)).to.equal('token-revoked')
      expect(await meCode(registry, second.access_token)).to.equal('ok')
      const third = await loggedIn(registry)
      expect((await out(second.access_token, { all: true })).status).to.equal(204)
      for (const { access_token, refresh_token } of [second, third]) {
        expect(await meCode(registry, access_token)).to.equal('token-revoked')
        expect((await refresh(registry, refresh_token)).json.code).to.equal('token-revoked')
      }
    }))

  it('are out at once when the account is disabled, and in again when it is not', () =>
    withAccountsServer(async registry => {
      const { access_token, refresh_token, account } = await registry.register('alice')
      await registry.store.setDisabled(account.id, registry.clock.nowMs)
      expect(await meCode(registry, access_token)).to.equal('token-revoked')
      expect((await refresh(registry, refresh_token)).json.code).to.equal('token-revoked')
      await registry.store.setDisabled(account.id, null)
      expect(await meCode(registry, access_token)).to.equal('ok')
    }))

  it('are out at once when the account is deleted', () =>
    withAccountsServer(async registry => {
      const { access_token, account } = await registry.register('alice')
      await registry.store.deleteAccount(account.id, 0)
      expect(await meCode(registry, access_token)).to.equal('token-revoked')
    }))

  it('beyond the bound end, the oldest first', () =>
    withAccountsServer(
      async registry => {
        const tokens = [await registry.register('alice')]
        for (let count = 0; count < 2; count++) {
          registry.clock.nowMs += 1000
          tokens.push(await loggedIn(registry))
        }
        const codes = await Promise.all(
          tokens.map(({ access_token }) => meCode(registry, access_token)),
        )
        expect(codes).to.deep.equal(['token-revoked', 'ok', 'ok'])
      },
      { limits: { maxAccountSessions: 2 } },
    ))
})
