import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { auth, password, sharedAccountsServer } from '../server/accounts/harness.ts'

const dayMs = 24 * 60 * 60 * 1000

describe('the accounts server', () => {
  const accounts = sharedAccountsServer()

  const register = (body: object) => accounts.call('POST', `${auth}/register`, { body })
  const login = (username: string) =>
    accounts.call('POST', `${auth}/login`, { body: { username, password } })
  const refresh = (token: string) => accounts.call('POST', `${auth}/refresh`, { token })
  const statusOfMe = async (token: string) =>
    (await accounts.call('GET', `${auth}/me`, { token })).status

  it('registers with username, email and password, all of them required', async () => {
    const whole = { username: 'alice', email: 'alice@studio.example', password }
    for (const name of Object.keys(whole)) {
      const answer = await register({ ...whole, [name]: undefined })
      expect(answer.status, `without ${name}`).to.equal(422)
      expect(answer.json.errors[0].pointer).to.equal(`/${name}`)
    }
    const { status, json } = await register(whole)
    expect(status).to.equal(201)
    expect(decodeJwt(json.access_token)).to.include({ sub: json.account.id })
  })

  it('wants 3 characters of a username and 8 of a password', async () => {
    for (const [username, secret, status] of [
      ['ab', password, 422],
      ['abc', password, 201],
      ['beatrice', 'sevench', 422],
      ['beatrice', 'eightchr', 201],
    ] as const) {
      const answer = await register({
        username,
        email: `${username}@studio.example`,
        password: secret,
      })
      expect(answer.status, `${username} ${secret}`).to.equal(status)
    }
  })

  it('answers a login as JSON with access_token, a JWT, another one each time', async () => {
    const first = await accounts.register('carol')
    const { status, json, headers } = await login('carol')
    expect(status).to.equal(200)
    expect(headers['content-type']).to.equal('application/json')
    expect(decodeJwt(json.access_token).exp).to.be.a('number')
    expect(json.access_token).not.to.equal(first.access_token)
  })

  it('accepts an access token for 24 hours by default', async () => {
    const { access_token } = await accounts.register('dave')
    const { iat = 0, exp = 0 } = decodeJwt(access_token)
    expect(exp - iat).to.equal(24 * 60 * 60)
    accounts.clock.nowMs = exp * 1000
    expect(await statusOfMe(access_token)).to.equal(200)
    accounts.clock.nowMs += 60_000
    expect(await statusOfMe(access_token)).to.equal(401)
  })

  it('accepts a refresh token for 30 days', async () => {
    const rotate = (refresh_token: string) =>
      accounts.call('POST', `${auth}/refresh`, { body: { refresh_token } })
    const { refresh_token, refresh_expires_in } = await accounts.register('erin')
    expect(refresh_expires_in * 1000).to.equal(30 * dayMs)
    accounts.clock.nowMs += 30 * dayMs - 1000
    const late = await rotate(refresh_token)
    expect(late.status).to.equal(200)
    accounts.clock.nowMs += 1000
    expect((await rotate(late.json.refresh_token)).status).to.equal(401)
  })

  it('refreshes with the current access token as Bearer', async () => {
    const { access_token } = await accounts.register('frank')
    accounts.clock.nowMs += 1000
    const { status, json } = await refresh(access_token)
    expect(status).to.equal(200)
    expect(json.access_token).to.be.a('string').and.not.equal(access_token)
    expect(await statusOfMe(json.access_token)).to.equal(200)
  })

  it('takes a token from Authorization: Bearer alone', async () => {
    const { access_token: token } = await accounts.register('grace')
    const status = async (headers: Record<string, string>, query = '') =>
      (await accounts.call('GET', `${auth}/me${query}`, { headers })).status
    expect(await status({ Authorization: `Bearer ${token}` })).to.equal(200)
    expect(await status({ Authorization: token })).to.equal(401)
    expect(await status({ Authorization: `Token ${token}` })).to.equal(401)
    expect(await status({ Cookie: `access_token=${token}` })).to.equal(401)
    expect(await status({}, `?access_token=${token}`)).to.equal(401)
  })
})
