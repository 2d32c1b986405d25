import { expect } from 'chai'
import {
  auth,
  loggedIn,
  meCode,
  outcome,
  password,
  refresh,
  sharedAccountsServer,
  type AccountsServer,
  openAccountsServer,
  withMethods,
} from './harness.ts'

const day = 86_400_000
const better = 'another honest phrase'

const reset = ({ call }: AccountsServer, username: string, code: string, next = better) =>
  call('POST', `${auth}/reset`, { body: { username, code, new_password: next } })

const make = ({ call }: AccountsServer, token: string, body: object = { name: 'ci' }) =>
  call('POST', `${auth}/tokens`, { token, body })

describe('password', () => {
  const registry = sharedAccountsServer()

  const change = (token: string, current: string, next = better) =>
    registry.call('PUT', `${auth}/password`, {
      token,
      body: { current_password: current, new_password: next },
    })

  it('changes, and every other session ends', async () => {
    const here = await registry.register()
    const { username, id } = here.account
    const there = await loggedIn(registry, username)
    expect((await change(here.access_token, password)).status).to.equal(204)
    expect(await meCode(registry, here.access_token)).to.equal('ok')
    expect(await meCode(registry, there.access_token)).to.equal('token-revoked')
    await loggedIn(registry, username, better)
    expect(await registry.audited('password.changed', id)).to.have.length(1)
  })

  it('stays when the current one is wrong, and tries of a session are counted', async () => {
    const { access_token, account } = await registry.register()
    for (let count = 0; count < 10; count++) {
      const answer = await change(access_token, 'wrong')
      expect(outcome(answer)).to.deep.equal([401, 'invalid-credentials'])
    }
    expect((await change(access_token, password)).status).to.equal(429)
    const other = await loggedIn(registry, account.username)
    expect((await change(other.access_token, password)).status).to.equal(204)
  })

  it('is set anew with a code, once; every session and service token ends and is named', async () => {
    const { access_token, account } = await registry.register()
    const { token: secret, ...view } = (await make(registry, access_token)).json
    const { username, id } = account
    await registry.makeCode(username, 'rst_once')
    for (const answer of [
      await reset(registry, username, 'rst_wrong'),
      await reset(registry, 'nobody', 'rst_once'),
    ]) {
      expect(outcome(answer)).to.deep.equal([401, 'invalid-credentials'])
    }
    const done = await reset(registry, username, 'rst_once')
    expect(done.status).to.equal(200)
    expect(done.json).to.deep.equal({ ended_sessions: 1, ended_tokens: [view] })
    expect(await meCode(registry, access_token)).to.equal('token-revoked')
    expect(await meCode(registry, secret)).to.equal('token-revoked')
    expect(await registry.audited('password.reset', id)).to.have.length(1)
    await loggedIn(registry, username, better)
    expect((await reset(registry, username, 'rst_once')).status).to.equal(401)
  })

  it('is not set by a code of another account, or of one that is disabled', async () => {
    const { account } = await registry.register()
    const { username, id } = account
    await registry.makeCode(username, 'rst_mine')
    const other = await registry.register()
    const refused = [401, 'invalid-credentials']
    const theirs = await reset(registry, other.account.username, 'rst_mine')
    expect(outcome(theirs)).to.deep.equal(refused)
    await registry.store.updateAccount(id, { disabledAtMs: 1 })
    expect(outcome(await reset(registry, username, 'rst_mine'))).to.deep.equal(refused)
    await registry.store.updateAccount(id, { disabledAtMs: null })
    registry.clock.nowMs += 60_000
    expect(outcome(await reset(registry, username, 'rst_mine'))).to.deep.equal(refused)
  })

  it('reveals no name or address without a reset code', async () => {
    const other = await openAccountsServer({ local: false })
    await other.register('alice-smith')
    for (const guess of ['alice-smith', 'alice-smith@studio.example']) {
      for (const name of ['alice-smith', 'nobody-else']) {
        const answer = await reset(other, name, 'rst_wrong', guess)
        expect(outcome(answer)).to.deep.equal([401, 'invalid-credentials'])
      }
    }
    await other.makeCode('alice-smith', 'rst_code')
    const blocked = await reset(other, 'alice-smith', 'rst_code', 'alice-smith')
    expect(outcome(blocked)).to.deep.equal([422, 'password-blocked'])
    expect((await reset(other, 'alice-smith', 'rst_code')).status).to.equal(200)
  })
})

describe('service tokens', () => {
  const registry = sharedAccountsServer()

  it('are shown once, and say whose they are', async () => {
    const { access_token, account } = await registry.register()
    const made = await make(registry, access_token, { name: 'ci', scopes: ['publish'] })
    expect(made.status).to.equal(201)
    expect(made.json.token).to.match(/^svc_/)
    expect(Date.parse(made.json.expires_at) - registry.clock.nowMs).to.equal(90 * day)
    const listed = await registry.call('GET', `${auth}/tokens`, { token: access_token })
    expect(listed.text).not.to.include('svc_')
    const { json } = await registry.call('GET', `${auth}/me`, { token: made.json.token })
    const { username } = account
    expect(json).to.deep.include({ username, scopes: ['publish'], session: null })
    expect(json.token).to.include({ id: made.json.id, name: 'ci' })
  })

  it('need a name that can be seen, without control characters', async () => {
    const { access_token } = await registry.register()
    for (const name of ['', '\u2003', 'a\u001b[31m']) {
      const answer = await make(registry, access_token, { name })
      expect([answer.status, answer.json.errors[0].pointer]).to.deep.equal([422, '/name'])
    }
  })

  it('cannot refresh, manage the account, or make tokens', async () => {
    const { access_token } = await registry.register()
    const { token } = (await make(registry, access_token)).json
    const body = { current_password: password, new_password: better }
    const tried: [method: string, path: string, body?: object][] = [
      ['PUT', 'password', body],
      ['POST', 'tokens', { name: 'more' }],
      ['GET', 'tokens'],
      ['POST', 'logout', { all: true }],
    ]
    for (const [method, path, sent] of tried) {
      const answer = await registry.call(method, `${auth}/${path}`, { token, body: sent })
      expect(outcome(answer), path).to.deep.equal([403, 'insufficient-scope'])
      expect(answer.headers['www-authenticate']).to.include('scope="account"')
    }
    const answer = await refresh(registry, token)
    expect(outcome(answer)).to.deep.equal([401, 'token-invalid'])
    expect(answer.json.detail).to.include('cannot be refreshed')
  })

  it('end by time, by hand, and with the account', async () => {
    const { access_token, account } = await registry.register()
    const short = (await make(registry, access_token, { name: 'a', expires_in_days: 1 })).json
    const long = (await make(registry, access_token, { name: 'b', expires_in_days: 365 })).json
    registry.clock.nowMs += day - 1
    expect(await meCode(registry, short.token)).to.equal('ok')
    registry.clock.nowMs += 1
    expect(await meCode(registry, short.token)).to.equal('token-expired')
    const { json } = await registry.call('GET', `${auth}/me`, { token: short.token })
    expect(json.detail).to.equal('the service token has expired; create a new one')
    await registry.store.updateAccount(account.id, { disabledAtMs: 1 })
    expect(await meCode(registry, long.token)).to.equal('token-revoked')
    await registry.store.updateAccount(account.id, { disabledAtMs: null })
    const { access_token: token } = await loggedIn(registry, account.username)
    const path = `${auth}/tokens/${long.id}`
    expect((await registry.call('DELETE', path, { token })).status).to.equal(204)
    expect(await meCode(registry, long.token)).to.equal('token-revoked')
    expect((await registry.call('DELETE', path, { token })).status).to.equal(404)
    const actions = (await registry.audited(undefined, account.id)).map(({ action }) => action)
    expect(actions).to.include.members(['token.created', 'token.revoked'])
  })

  it('are not made by a session that ends meanwhile', async () => {
    const other = await openAccountsServer({
      wrap: store =>
        withMethods(store, {
          async createServiceToken(token, sessionId) {
            await store.endAccess(token.accountId)
            return store.createServiceToken(token, sessionId)
          },
        }),
    })
    const { access_token } = await other.register()
    expect(outcome(await make(other, access_token))).to.deep.equal([401, 'token-revoked'])
  })
})
