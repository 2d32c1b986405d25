import { expect } from 'chai'
import { decodeJwt } from 'jose'
import {
  auth,
  loggedIn,
  logIn,
  meCode,
  password,
  refresh,
  sharedAccountsServer,
  signUp,
} from '../server/accounts/harness.ts'
import { facts } from './facts.ts'

const day = 24 * 60 * 60

describe('specification: Registry', () => {
  const registry = sharedAccountsServer()

  facts('account', [
    [
      'registration takes username, email and password, all of them required',
      async () => {
        for (const name of ['username', 'email', 'password']) {
          const answer = await signUp(registry, 'alice', { [name]: undefined })
          expect(answer.status, `without ${name}`).to.equal(422)
          expect(answer.json.errors[0].pointer).to.equal(`/${name}`)
        }
        expect((await signUp(registry, 'alice')).status).to.equal(201)
      },
    ],
    [
      'a username has at least 3 characters, a password at least 8',
      async () => {
        const wanted = { email: 'other@studio.example', password: 'eightchr' }
        expect((await signUp(registry, 'ab', wanted)).status).to.equal(422)
        const short = { ...wanted, password: 'sevench' }
        expect((await signUp(registry, 'abc', short)).status).to.equal(422)
        expect((await signUp(registry, 'abc', wanted)).status).to.equal(201)
      },
    ],
    [
      'registration yields a JWT access token',
      async () => {
        const { access_token, account } = await registry.register()
        expect(decodeJwt(access_token)).to.include({ sub: account.id })
      },
    ],
  ])

  facts('tokens', [
    [
      'login takes username and password as JSON and answers an object with access_token, a JWT',
      async () => {
        const { account, access_token } = await registry.register()
        const { status, json, headers } = await logIn(registry, account.username, password)
        expect(status).to.equal(200)
        expect(headers['content-type']).to.equal('application/json')
        expect(decodeJwt(json.access_token).exp).to.be.a('number')
        expect(json.access_token).not.to.equal(access_token)
      },
    ],
    [
      'a token is presented as Authorization: Bearer, and nowhere else',
      async () => {
        const { access_token } = await registry.register()
        const me = `${auth}/me`
        const statusOf = async (path: string, headers: Record<string, string>) =>
          (await registry.call('GET', path, { headers })).status
        expect(await statusOf(me, { Authorization: `Bearer ${access_token}` })).to.equal(200)
        expect(await statusOf(me, { Authorization: access_token })).to.equal(401)
        expect(await statusOf(me, { Authorization: `Token ${access_token}` })).to.equal(401)
        expect(await statusOf(me, { Cookie: `access_token=${access_token}` })).to.equal(401)
        expect(await statusOf(`${me}?access_token=${access_token}`, {})).to.equal(401)
      },
    ],
    [
      'refresh takes the current token as Bearer and answers a fresh one',
      async () => {
        const { access_token } = await registry.register()
        registry.clock.nowMs += 1000
        const answer = await refresh(registry, access_token)
        expect(answer.status).to.equal(200)
        expect(answer.json.access_token).to.be.a('string').and.not.equal(access_token)
        expect(await meCode(registry, answer.json.access_token)).to.equal('ok')
      },
    ],
    [
      'an access token lives 24 hours by default, and a fresh one comes from logging in again',
      async () => {
        const { access_token, account } = await registry.register()
        const { iat = 0, exp = 0 } = decodeJwt(access_token)
        expect(exp - iat).to.equal(day)
        registry.clock.nowMs = exp * 1000
        expect(await meCode(registry, access_token)).to.equal('ok')
        registry.clock.nowMs += 60_000
        expect(await meCode(registry, access_token)).to.equal('token-expired')
        const again = await loggedIn(registry, account.username)
        expect(await meCode(registry, again.access_token)).to.equal('ok')
      },
    ],
    [
      'a refresh token lives 30 days',
      async () => {
        const { refresh_token, refresh_expires_in } = await registry.register()
        expect(refresh_expires_in).to.equal(30 * day)
        registry.clock.nowMs += refresh_expires_in * 1000 - 1000
        const late = await refresh(registry, refresh_token)
        expect(late.status).to.equal(200)
        registry.clock.nowMs += 1000
        expect((await refresh(registry, late.json.refresh_token)).status).to.equal(401)
      },
    ],
  ])
})
