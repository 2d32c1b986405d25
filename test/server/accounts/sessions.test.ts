import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { password, type Registry, withRegistry } from './harness.ts'

const auth = '/api/v1/auth'
const day = 86_400_000

async function login({ call }: Registry, username = 'alice', secret = password) {
  const answer = await call('POST', `${auth}/login`, { body: { username, password: secret } })
  expect(answer.status, answer.text).to.equal(200)
  return answer.json
}

async function meCode({ call }: Registry, token: string): Promise<string> {
  const answer = await call('GET', `${auth}/me`, { token })
  return answer.status === 200 ? 'ok' : answer.json.code
}

const refresh = ({ call }: Registry, token: string, body?: unknown) =>
  call('POST', `${auth}/refresh`, { token, ...(body === undefined ? {} : { body }) })

describe('refresh', () => {
  it('gives a further access token for an access token, and never a refresh token', () =>
    withRegistry(async registry => {
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
    withRegistry(async registry => {
      const { access_token } = await registry.register('alice')
      expect((await refresh(registry, access_token, {})).status).to.equal(200)
    }))

  it('rotates a refresh token sent as Bearer, or in the body, alone or beside its access token', () =>
    withRegistry(async registry => {
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
    withRegistry(async registry => {
      const [alice, other] = [await registry.register('alice'), await registry.register('bob')]
      const second = await login(registry)
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

  it('gives the same pair again for a minute, to whoever lost the answer', () =>
    withRegistry(async registry => {
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
    withRegistry(async registry => {
      const { refresh_token, account } = await registry.register('alice')
      const elsewhere = await login(registry)
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
    withRegistry(async registry => {
      const { refresh_token } = await registry.register('alice')
      const second = await refresh(registry, refresh_token)
      const third = await refresh(registry, second.json.refresh_token)
      expect((await refresh(registry, refresh_token)).json.code).to.equal('refresh-reused')
      expect(await meCode(registry, third.json.access_token)).to.equal('token-revoked')
    }))

  it('makes one step when fifty ask with one token at the same time', () =>
    withRegistry(async registry => {
      const { refresh_token, access_token } = await registry.register('alice')
      const all = await Promise.all(
        Array.from({ length: 50 }, () => refresh(registry, refresh_token)),
      )
      expect(new Set(all.map(({ status }) => status))).to.deep.equal(new Set([200]))
      expect(new Set(all.map(({ json }) => json.refresh_token)).size).to.equal(1)
      const { sid } = decodeJwt(access_token)
      expect((await registry.store.findSession(String(sid)))?.session.counter).to.equal(1)
    }))

  it('stops at the end of the session, however often it was done', () =>
    withRegistry(async registry => {
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
    withRegistry(async registry => {
      const { access_token } = await registry.register('alice')
      registry.clock.nowMs += day + 6000
      const answer = await refresh(registry, access_token)
      expect([answer.status, answer.json.code]).to.deep.equal([401, 'token-expired'])
    }))

  it('slows down an address whose refreshes are refused', () =>
    withRegistry(async registry => {
      const { access_token } = await registry.register('alice')
      for (let count = 0; count < 20; count++) {
        expect((await refresh(registry, 'nonsense')).status).to.equal(401)
      }
      const answer = await refresh(registry, access_token)
      expect([answer.status, answer.headers['retry-after']]).to.deep.equal([429, '60'])
      registry.clock.nowMs += 60_000
      expect((await refresh(registry, access_token)).status).to.equal(200)
    }))
})

describe('sessions', () => {
  it('are listed and ended one by one', () =>
    withRegistry(async registry => {
      const first = await registry.register('alice')
      registry.clock.nowMs += 1000
      const headers = { 'User-Agent': 'laptop\u00e9' }
      const body = { username: 'alice', password }
      const second = (await registry.call('POST', `${auth}/login`, { body, headers })).json
      const { json } = await registry.call('GET', `${auth}/sessions`, { token: first.access_token })
      expect(json.sessions.map((row: any) => row.current)).to.deep.equal([false, true])
      expect(json.sessions[0]).to.include({ address: '127.0.0.1', user_agent: 'laptop??' })
      const path = `${auth}/sessions/${json.sessions[0].id}`
      const token = first.access_token
      expect((await registry.call('DELETE', path, { token })).status).to.equal(204)
      expect(await meCode(registry, second.access_token)).to.equal('token-revoked')
      expect((await registry.call('DELETE', path, { token })).status).to.equal(404)
    }))

  it('of somebody else cannot be ended', () =>
    withRegistry(async registry => {
      const [alice, bob] = [await registry.register('alice'), await registry.register('bob')]
      const { sid } = decodeJwt(alice.access_token)
      const ids = [sid, "' OR 1=1--", '%00', '..%2f..', '*']
      for (const id of ids) {
        const path = `${auth}/sessions/${encodeURIComponent(String(id))}`
        const answer = await registry.call('DELETE', path, { token: bob.access_token })
        expect(answer.status, path).to.equal(404)
      }
      expect(await meCode(registry, alice.access_token)).to.equal('ok')
    }))

  it('end with logout, this one or all of them', () =>
    withRegistry(async registry => {
      const [first, second] = [await registry.register('alice'), await login(registry)]
      const out = (token: string, body?: object) =>
        registry.call('POST', `${auth}/logout`, { token, ...(body === undefined ? {} : { body }) })
      expect((await out(first.access_token)).status).to.equal(204)
      expect(await meCode(registry, first.access_token)).to.equal('token-revoked')
      expect(await meCode(registry, second.access_token)).to.equal('ok')
      const third = await login(registry)
      expect((await out(second.access_token, { all: true })).status).to.equal(204)
      for (const { access_token, refresh_token } of [second, third]) {
        expect(await meCode(registry, access_token)).to.equal('token-revoked')
        expect((await refresh(registry, refresh_token)).json.code).to.equal('token-revoked')
      }
    }))

  it('are out at once when the account is disabled, and in again when it is not', () =>
    withRegistry(async registry => {
      const { access_token, refresh_token, account } = await registry.register('alice')
      await registry.store.setDisabled(account.id, registry.clock.nowMs)
      expect(await meCode(registry, access_token)).to.equal('token-revoked')
      expect((await refresh(registry, refresh_token)).json.code).to.equal('token-revoked')
      await registry.store.setDisabled(account.id, null)
      expect(await meCode(registry, access_token)).to.equal('ok')
    }))

  it('are out at once when the account is deleted', () =>
    withRegistry(async registry => {
      const { access_token, account } = await registry.register('alice')
      await registry.store.deleteAccount(account.id, 0)
      expect(await meCode(registry, access_token)).to.equal('token-revoked')
    }))

  it('beyond the bound end, the oldest first', () =>
    withRegistry(
      async registry => {
        const tokens = [await registry.register('alice')]
        for (let count = 0; count < 2; count++) {
          registry.clock.nowMs += 1000
          tokens.push(await login(registry))
        }
        const codes = await Promise.all(
          tokens.map(({ access_token }) => meCode(registry, access_token)),
        )
        expect(codes).to.deep.equal(['token-revoked', 'ok', 'ok'])
      },
      { limits: { maxAccountSessions: 2 } },
    ))
})

describe('password', () => {
  const better = 'another honest phrase'
  const change = ({ call }: Registry, token: string, current: string, next = better) =>
    call('PUT', `${auth}/password`, {
      token,
      body: { current_password: current, new_password: next },
    })

  it('changes, and every other session ends', () =>
    withRegistry(async registry => {
      const [here, there] = [await registry.register('alice'), await login(registry)]
      expect((await change(registry, here.access_token, password)).status).to.equal(204)
      expect(await meCode(registry, here.access_token)).to.equal('ok')
      expect(await meCode(registry, there.access_token)).to.equal('token-revoked')
      await login(registry, 'alice', better)
      expect(await registry.audited('password.changed')).to.have.length(1)
    }))

  it('stays when the current one is wrong, and tries are counted with those of logins', () =>
    withRegistry(async registry => {
      const { access_token } = await registry.register('alice')
      for (let count = 0; count < 10; count++) {
        const answer = await change(registry, access_token, 'wrong')
        expect([answer.status, answer.json.code]).to.deep.equal([401, 'invalid-credentials'])
      }
      expect((await change(registry, access_token, password)).status).to.equal(429)
      const body = { username: 'alice', password }
      expect((await registry.call('POST', `${auth}/login`, { body })).status).to.equal(429)
    }))

  it('is set anew with a reset code, once, and every session ends', () =>
    withRegistry(async registry => {
      const { access_token, account } = await registry.register('alice')
      const { hashOfSecret } = await import('../../../src/server/accounts/service-tokens.ts')
      const expiresAtMs = registry.clock.nowMs + 60_000
      const hash = hashOfSecret('rst_code')
      await registry.store.createResetCode({ accountId: account.id, hash, expiresAtMs })
      const reset = (code: string, username = 'alice') =>
        registry.call('POST', `${auth}/reset`, { body: { username, code, new_password: better } })
      for (const answer of [await reset('rst_wrong'), await reset('rst_code', 'nobody')]) {
        expect([answer.status, answer.json.code]).to.deep.equal([401, 'invalid-credentials'])
      }
      expect((await reset('rst_code')).status).to.equal(204)
      expect(await meCode(registry, access_token)).to.equal('token-revoked')
      await login(registry, 'alice', better)
      expect((await reset('rst_code')).status).to.equal(401)
      expect(await registry.audited('password.reset_failed')).to.have.length(3)
    }))
})

describe('service tokens', () => {
  const make = ({ call }: Registry, token: string, body: object = { name: 'ci' }) =>
    call('POST', `${auth}/tokens`, { token, body })

  it('are shown once, and say whose they are', () =>
    withRegistry(async registry => {
      const { access_token } = await registry.register('alice')
      const made = await make(registry, access_token, { name: 'ci', scopes: ['publish'] })
      expect(made.status).to.equal(201)
      expect(made.json.token).to.match(/^svc_/)
      expect(Date.parse(made.json.expires_at) - registry.clock.nowMs).to.equal(90 * day)
      const listed = await registry.call('GET', `${auth}/tokens`, { token: access_token })
      expect(listed.text).not.to.include('svc_')
      const me = await registry.call('GET', `${auth}/me`, { token: made.json.token })
      expect(me.json).to.deep.include({ username: 'alice', scopes: ['publish'], session: null })
      expect(me.json.token).to.include({ id: made.json.id, name: 'ci' })
    }))

  it('cannot refresh, manage the account, or make tokens', () =>
    withRegistry(async registry => {
      const { access_token, refresh_token } = await registry.register('alice')
      const { token } = (await make(registry, access_token)).json
      const body = { current_password: password, new_password: 'another honest phrase' }
      const tried: [method: string, path: string, body?: object][] = [
        ['PUT', 'password', body],
        ['POST', 'tokens', { name: 'more' }],
        ['GET', 'tokens'],
        ['GET', 'sessions'],
        ['POST', 'logout', { all: true }],
      ]
      for (const [method, path, sent] of tried) {
        const options = { token, ...(sent === undefined ? {} : { body: sent }) }
        const answer = await registry.call(method, `${auth}/${path}`, options)
        expect([answer.status, answer.json.code], path).to.deep.equal([403, 'insufficient-scope'])
        expect(answer.headers['www-authenticate']).to.include('scope="account"')
      }
      for (const sent of [undefined, { refresh_token }]) {
        const answer = await refresh(registry, token, sent)
        expect([answer.status, answer.json.code]).to.deep.equal([401, 'token-invalid'])
      }
    }))

  it('end by time, by hand, and with the account', () =>
    withRegistry(async registry => {
      const { access_token, account } = await registry.register('alice')
      const short = (await make(registry, access_token, { name: 'a', expires_in_days: 1 })).json
      const long = (await make(registry, access_token, { name: 'b', expires_in_days: 365 })).json
      registry.clock.nowMs += day - 1
      expect(await meCode(registry, short.token)).to.equal('ok')
      registry.clock.nowMs += 1
      expect(await meCode(registry, short.token)).to.equal('token-expired')
      await registry.store.setDisabled(account.id, 1)
      expect(await meCode(registry, long.token)).to.equal('token-revoked')
      await registry.store.setDisabled(account.id, null)
      const { access_token: token } = await login(registry)
      const path = `${auth}/tokens/${long.id}`
      expect((await registry.call('DELETE', path, { token })).status).to.equal(204)
      expect(await meCode(registry, long.token)).to.equal('token-revoked')
      expect((await registry.call('DELETE', path, { token })).status).to.equal(404)
      const actions = (await registry.audited()).map(({ action }) => action)
      expect(actions).to.include.members(['token.created', 'token.revoked'])
    }))

  it('are as many as the bound allows', () =>
    withRegistry(
      async registry => {
        const { access_token } = await registry.register('alice')
        expect((await make(registry, access_token)).status).to.equal(201)
        const answer = await make(registry, access_token)
        expect([answer.status, answer.json.code]).to.deep.equal([409, 'too-many-tokens'])
      },
      { limits: { maxServiceTokens: 1 } },
    ))
})
