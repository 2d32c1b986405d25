import { expect } from 'chai'
import { hashOfSecret } from '../../../src/server/accounts/service-tokens.ts'
import {
  loggedIn,
  meCode,
  refresh,
  auth,
  password,
  type AccountsServer,
  withAccountsServer,
} from './harness.ts'

const day = 86_400_000

describe('password', () => {
  const better = 'another honest phrase'
  const change = ({ call }: AccountsServer, token: string, current: string, next = better) =>
    call('PUT', `${auth}/password`, {
      token,
      body: { current_password: current, new_password: next },
    })

  it('changes, and every other session ends', () =>
    withAccountsServer(async registry => {
      const [here, there] = [await registry.register('alice'), await loggedIn(registry)]
      expect((await change(registry, here.access_token, password)).status).to.equal(204)
      expect(await meCode(registry, here.access_token)).to.equal('ok')
      expect(await meCode(registry, there.access_token)).to.equal('token-revoked')
      await loggedIn(registry, 'alice', better)
      expect(await registry.audited('password.changed')).to.have.length(1)
    }))

  it('stays when the current one is wrong, and tries of a session are counted', () =>
    withAccountsServer(async registry => {
      const { access_token } = await registry.register('alice')
      for (let count = 0; count < 10; count++) {
        const answer = await change(registry, access_token, 'wrong')
        expect([answer.status, answer.json.code]).to.deep.equal([401, 'invalid-credentials'])
      }
      expect((await change(registry, access_token, password)).status).to.equal(429)
      const other = await loggedIn(registry)
      expect((await change(registry, other.access_token, password)).status).to.equal(204)
    }))

  it('changes for a session while its address is refused at logins of the account', () =>
    withAccountsServer(async registry => {
      const { access_token } = await registry.register('alice')
      const logIn = (secret: string) =>
        registry.call('POST', `${auth}/login`, { body: { username: 'alice', password: secret } })
      for (let count = 0; count < 10; count++) await logIn('wrong')
      expect((await logIn(password)).status).to.equal(429)
      expect((await change(registry, access_token, password)).status).to.equal(204)
    }))

  it('does the same work for a wrong reset code whether the name exists or not', async () => {
    const used: string[][] = []
    await withAccountsServer(
      async registry => {
        await registry.register('alice')
        for (const username of ['alice', 'alice@studio.example', 'nobody']) {
          used.push([])
          const body = { username, code: 'rst_wrong', new_password: better }
          await registry.call('POST', `${auth}/reset`, { body })
        }
        expect(used[0]).to.deep.equal(used[2])
        expect(used[1]).to.deep.equal(used[2])
        const rows = await registry.audited('password.reset_failed')
        expect(rows.map(({ accountId }) => accountId)).to.deep.equal([null, null, null])
      },
      {
        wrap: store =>
          new Proxy(store, {
            get(target, name) {
              const member: unknown = Reflect.get(target, name)
              if (typeof member !== 'function') return member
              return (...args: unknown[]) => {
                used.at(-1)?.push(String(name))
                return member.apply(target, args)
              }
            },
          }),
      },
    )
  })

  it('reveals no name or address without a reset code', () =>
    withAccountsServer(
      async registry => {
        await registry.register('alice-smith')
        const reset = async (username: string, new_password: string, code = 'rst_wrong') => {
          const body = { username, code, new_password }
          const { status, json } = await registry.call('POST', `${auth}/reset`, { body })
          return [status, json?.code]
        }
        const refused = [401, 'invalid-credentials']
        for (const guess of ['alice-smith', 'alice-smith@studio.example']) {
          expect(await reset('alice-smith', guess)).to.deep.equal(refused)
          expect(await reset('alice-smith@studio.example', guess)).to.deep.equal(refused)
          expect(await reset('nobody-else', guess)).to.deep.equal(refused)
        }
        const account = await registry.store.findAccount('alice-smith')
        const accountId = account?.id ?? ''
        const expiresAtMs = registry.clock.nowMs + 60_000
        await registry.store.createResetCode({
          accountId,
          hash: hashOfSecret('rst_code'),
          expiresAtMs,
        })
        const blocked = [422, 'password-blocked']
        expect(await reset('alice-smith', 'alice-smith', 'rst_code')).to.deep.equal(blocked)
        expect((await reset('alice-smith', 'a new honest phrase', 'rst_code'))[0]).to.equal(200)
      },
      { local: false },
    ))

  it('is set anew with a reset code, once, and every session ends', () =>
    withAccountsServer(async registry => {
      const { access_token, account } = await registry.register('alice')
      const expiresAtMs = registry.clock.nowMs + 60_000
      const hash = hashOfSecret('rst_code')
      await registry.store.createResetCode({ accountId: account.id, hash, expiresAtMs })
      const reset = (code: string, username = 'alice') =>
        registry.call('POST', `${auth}/reset`, { body: { username, code, new_password: better } })
      for (const answer of [await reset('rst_wrong'), await reset('rst_code', 'nobody')]) {
        expect([answer.status, answer.json.code]).to.deep.equal([401, 'invalid-credentials'])
      }
      expect((await reset('rst_code')).status).to.equal(200)
      expect(await meCode(registry, access_token)).to.equal('token-revoked')
      await loggedIn(registry, 'alice', better)
      expect((await reset('rst_code')).status).to.equal(401)
      expect(await registry.audited('password.reset_failed')).to.have.length(3)
    }))

  it('set anew with a reset code ends service tokens, and names them', () =>
    withAccountsServer(async registry => {
      const { access_token: token, account } = await registry.register('alice')
      const body = { name: 'render farm' }
      const made = await registry.call('POST', `${auth}/tokens`, { token, body })
      const { token: secret, ...view } = made.json
      const expiresAtMs = registry.clock.nowMs + 60_000
      const hash = hashOfSecret('rst_code')
      await registry.store.createResetCode({ accountId: account.id, hash, expiresAtMs })
      const reset = { username: 'alice', code: 'rst_code', new_password: better }
      const answer = await registry.call('POST', `${auth}/reset`, { body: reset })
      expect(answer.status).to.equal(200)
      expect(answer.json).to.deep.equal({ ended_sessions: 1, ended_tokens: [view] })
      expect(await meCode(registry, secret)).to.equal('token-revoked')
      const [entry] = await registry.audited('password.reset')
      expect(entry?.details).to.include({ ended_sessions: 1, ended_tokens: 1 })
    }))
})

describe('service tokens', () => {
  const make = ({ call }: AccountsServer, token: string, body: object = { name: 'ci' }) =>
    call('POST', `${auth}/tokens`, { token, body })

  it('are shown once, and say whose they are', () =>
    withAccountsServer(async registry => {
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

  it('need a name that can be seen', () =>
    withAccountsServer(async registry => {
      const { access_token } = await registry.register('alice')
      for (const name of ['', '  ', '\u2003', 'a\u001b[31m']) {
        const answer = await make(registry, access_token, { name })
        expect([answer.status, answer.json.errors[0].pointer]).to.deep.equal([422, '/name'])
      }
    }))

  it('cannot refresh, manage the account, or make tokens', () =>
    withAccountsServer(async registry => {
      const { access_token, refresh_token } = await registry.register('alice')
      const { token } = (await make(registry, access_token)).json
      const body = { current_password: password, new_password: 'another honest phrase' }
      const tried: [method: string, path: string, body?: object][] = [
        ['PUT', 'password', body],
        ['POST', 'tokens', { name: 'more' }],
        ['GET', 'tokens'],
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
      expect((await refresh(registry, token)).json.detail).to.include('is not refreshed')
    }))

  it('end by time, by hand, and with the account', () =>
    withAccountsServer(async registry => {
      const { access_token, account } = await registry.register('alice')
      const short = (await make(registry, access_token, { name: 'a', expires_in_days: 1 })).json
      const long = (await make(registry, access_token, { name: 'b', expires_in_days: 365 })).json
      registry.clock.nowMs += day - 1
      expect(await meCode(registry, short.token)).to.equal('ok')
      registry.clock.nowMs += 1
      expect(await meCode(registry, short.token)).to.equal('token-expired')
      const { json } = await registry.call('GET', `${auth}/me`, { token: short.token })
      expect(json.detail).to.equal('the service token has expired; create a new one')
      await registry.store.setDisabled(account.id, 1)
      expect(await meCode(registry, long.token)).to.equal('token-revoked')
      await registry.store.setDisabled(account.id, null)
      const { access_token: token } = await loggedIn(registry)
      const path = `${auth}/tokens/${long.id}`
      expect((await registry.call('DELETE', path, { token })).status).to.equal(204)
      expect(await meCode(registry, long.token)).to.equal('token-revoked')
      expect((await registry.call('DELETE', path, { token })).status).to.equal(404)
      const actions = (await registry.audited()).map(({ action }) => action)
      expect(actions).to.include.members(['token.created', 'token.revoked'])
    }))

  it('are as many as the bound allows', () =>
    withAccountsServer(
      async registry => {
        const { access_token } = await registry.register('alice')
        expect((await make(registry, access_token)).status).to.equal(201)
        const answer = await make(registry, access_token)
        expect([answer.status, answer.json.code]).to.deep.equal([409, 'too-many-tokens'])
      },
      { limits: { maxServiceTokens: 1 } },
    ))
})
