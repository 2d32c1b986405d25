import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { password, type AccountsServer, withAccountsServer } from '../server/accounts/harness.ts'
import { facts } from './facts.ts'

const auth = '/api/v1/auth'

const register = ({ call }: AccountsServer, username: string, secret: string) =>
  call('POST', `${auth}/register`, {
    body: { username, email: 'someone@studio.example', password: secret },
  })

facts('specification: Registry, account', [
  [
    'registration takes username, email and password, all of them required',
    () =>
      withAccountsServer(async registry => {
        const whole = { username: 'alice', email: 'alice@studio.example', password }
        for (const name of Object.keys(whole)) {
          const body = { ...whole, [name]: undefined }
          const answer = await registry.call('POST', `${auth}/register`, { body })
          expect(answer.status, `without ${name}`).to.equal(422)
          expect(answer.json.errors[0].pointer).to.equal(`/${name}`)
        }
        const answer = await registry.call('POST', `${auth}/register`, { body: whole })
        expect(answer.status).to.equal(201)
      }),
  ],
  [
    'a username has at least 3 characters',
    () =>
      withAccountsServer(async registry => {
        expect((await register(registry, 'ab', password)).status).to.equal(422)
        expect((await register(registry, 'abc', password)).status).to.equal(201)
      }),
  ],
  [
    'a password has at least 8 characters',
    () =>
      withAccountsServer(async registry => {
        expect((await register(registry, 'alice', 'sevench')).status).to.equal(422)
        expect((await register(registry, 'alice', 'eightchr')).status).to.equal(201)
      }),
  ],
  [
    'registration yields a JWT access token',
    () =>
      withAccountsServer(async registry => {
        const { json } = await register(registry, 'alice', password)
        expect(decodeJwt(json.access_token)).to.include({ sub: json.account.id })
      }),
  ],
])

facts('specification: Registry, tokens', [
  [
    'login takes username and password as JSON and answers an object with access_token, a JWT',
    () =>
      withAccountsServer(async registry => {
        await registry.register('alice')
        const body = { username: 'alice', password }
        const { status, json, headers } = await registry.call('POST', `${auth}/login`, { body })
        expect(status).to.equal(200)
        expect(headers['content-type']).to.equal('application/json')
        expect(decodeJwt(json.access_token).exp).to.be.a('number')
      }),
  ],
  [
    'an access token lives 24 hours by default',
    () =>
      withAccountsServer(async registry => {
        const { access_token } = await registry.register('alice')
        const { iat = 0, exp = 0 } = decodeJwt(access_token)
        expect(exp - iat).to.equal(24 * 60 * 60)
        const status = async () =>
          (await registry.call('GET', `${auth}/me`, { token: access_token })).status
        registry.clock.nowMs = exp * 1000
        expect(await status()).to.equal(200)
        registry.clock.nowMs += 60_000
        expect(await status()).to.equal(401)
      }),
  ],
  [
    'a refresh token lives 30 days',
    () =>
      withAccountsServer(async registry => {
        const { refresh_token, refresh_expires_in } = await registry.register('alice')
        expect(refresh_expires_in).to.equal(30 * 24 * 60 * 60)
        registry.clock.nowMs += refresh_expires_in * 1000 - 1000
        const late = await registry.call('POST', `${auth}/refresh`, { token: refresh_token })
        expect(late.status).to.equal(200)
        registry.clock.nowMs += 1000
        const token = late.json.refresh_token
        expect((await registry.call('POST', `${auth}/refresh`, { token })).status).to.equal(401)
      }),
  ],
  [
    'refresh takes the current token as Bearer and answers a fresh one',
    () =>
      withAccountsServer(async registry => {
        const { access_token } = await registry.register('alice')
        registry.clock.nowMs += 1000
        const answer = await registry.call('POST', `${auth}/refresh`, { token: access_token })
        expect(answer.status).to.equal(200)
        expect(answer.json.access_token).to.be.a('string').and.not.equal(access_token)
        const token = answer.json.access_token
        expect((await registry.call('GET', `${auth}/me`, { token })).status).to.equal(200)
      }),
  ],
  [
    'a token is presented as Authorization: Bearer, and nowhere else',
    () =>
      withAccountsServer(async registry => {
        const { access_token } = await registry.register('alice')
        const statusOf = async (path: string, headers: Record<string, string>) =>
          (await registry.call('GET', path, { headers })).status
        const me = `${auth}/me`
        expect(await statusOf(me, { Authorization: `Bearer ${access_token}` })).to.equal(200)
        expect(await statusOf(me, { Authorization: access_token })).to.equal(401)
        expect(await statusOf(me, { Authorization: `Token ${access_token}` })).to.equal(401)
        expect(await statusOf(me, { Cookie: `access_token=${access_token}` })).to.equal(401)
        expect(await statusOf(`${me}?access_token=${access_token}`, {})).to.equal(401)
      }),
  ],
  [
    'a fresh token also comes from logging in again',
    () =>
      withAccountsServer(async registry => {
        const first = await registry.register('alice')
        const body = { username: 'alice', password }
        const { json } = await registry.call('POST', `${auth}/login`, { body })
        expect(json.access_token).not.to.equal(first.access_token)
      }),
  ],
])
