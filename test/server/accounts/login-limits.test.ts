import { expect } from 'chai'
import { request } from 'node:http'
import { availableParallelism } from 'node:os'
import { addressKey } from '../../../src/server/accounts/login-limits.ts'
import { Passwords } from '../../../src/server/accounts/passwords.ts'
import {
  type AccountsServer,
  auth,
  logIn,
  outcome,
  password,
  sharedAccountsServer,
  openAccountsServer,
} from './harness.ts'

const minute = 60_000
const limited = [429, 'rate-limited']

/** The status of a wrong login from the address, over a connection of its own. */
function logInAlone(base: string, address: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const headers = { 'Content-Type': 'application/json', 'X-Forwarded-For': address }
    const asked = request(`${base}${auth}/login`, { method: 'POST', agent: false, headers })
    asked.on('error', reject).on('response', answer => {
      answer.resume()
      resolve(answer.statusCode)
    })
    asked.end(JSON.stringify({ username: `at ${address}`, password: 'wrong' }))
  })
}

describe('login rate limiting', () => {
  const registry = sharedAccountsServer()

  it('refuses the eleventh try, the right password too, and keeps sessions', async () => {
    const { access_token: token, refresh_token } = await registry.register('alice')
    for (let count = 0; count < 10; count++) {
      expect((await logIn(registry, 'alice', 'wrong')).status).to.equal(401)
    }
    const refused = await logIn(registry, 'alice')
    expect(outcome(refused)).to.deep.equal(limited)
    expect(refused.headers['retry-after']).to.equal('900')
    expect(refused.json.retry_after).to.equal(900)
    expect((await registry.call('GET', `${auth}/me`, { token })).status).to.equal(200)
    const body = { refresh_token }
    expect((await registry.call('POST', `${auth}/refresh`, { body })).status).to.equal(200)
    registry.clock.nowMs += 15 * minute
    expect((await logIn(registry, 'alice')).status).to.equal(200)
  })

  it('forgets the failures of an address when its owner logs in', async () => {
    await registry.register('dave')
    for (let round = 0; round < 3; round++) {
      for (let count = 0; count < 9; count++) await logIn(registry, 'dave', 'wrong')
      expect((await logIn(registry, 'dave')).status).to.equal(200)
    }
  })

  it('counts user names and email addresses separately, known or not, in any case', async () => {
    registry.clock.nowMs += 60 * minute
    await registry.register('bob')
    await registry.register('carol')
    for (const [name, email] of [
      ['bob', 'bob@studio.example'],
      ['nobody', 'nobody@studio.example'],
    ]) {
      // None of these headers is trusted here.
      const headers = { 'X-Forwarded-For': '192.0.2.1', 'X-Real-IP': '192.0.2.1' }
      for (let count = 0; count < 10; count++) await logIn(registry, name, 'wrong', headers)
      const refused = await logIn(registry, name?.toUpperCase(), 'wrong')
      expect(refused.json.detail).to.equal('too many attempts; try again in 900 s')
      expect((await logIn(registry, email, 'wrong')).status).to.equal(401)
    }
    expect((await logIn(registry, 'carol')).status).to.equal(200)
  })

  it('allows few more tries when many arrive at once', async () => {
    const other = await openAccountsServer()
    await other.register('alice')
    const all = await Promise.all(Array.from({ length: 40 }, () => logIn(other, 'alice', 'wrong')))
    const wrong = all.filter(({ status }) => status === 401).length
    expect(wrong).to.be.within(10, 10 + Math.max(1, availableParallelism() - 1))
    expect(all.filter(({ status }) => status === 429)).to.have.length(40 - wrong)
  })

  it('stops an address that tries many names, also with codes, and records no more of it', async () => {
    const other = await openAccountsServer()
    for (let at = 0; at < 60; at++) await logIn(other, `nobody${at}`, 'wrong')
    for (let at = 0; at < 40; at++) {
      const body = { username: 'alice', code: `rst_${at}`, new_password: password }
      expect((await other.call('POST', `${auth}/reset`, { body })).status).to.equal(401)
    }
    expect(outcome(await logIn(other, 'someone', 'wrong'))).to.deep.equal(limited)
    const entries = [
      ...(await other.audited('login.failed')),
      ...(await other.audited('password.reset_failed')),
    ]
    expect(entries).to.have.length(100)
  })

  describe('from several addresses', () => {
    const settings = { trustedProxies: ['127.0.0.1'] }
    const logInAt = (other: AccountsServer, address: string, secret = password, name = 'alice') =>
      logIn(other, name, secret, { 'X-Forwarded-For': address })
    /** Ten wrong passwords from each of so many addresses. */
    const attack = async (other: AccountsServer, addresses: number, name = 'alice') => {
      for (let at = 0; at < addresses * 10; at++) {
        await logInAt(other, `198.51.100.${Math.floor(at / 10)}`, 'wrong', name)
      }
    }

    it('accepts the owner, by user name and by address, after a reset', async () => {
      const other = await openAccountsServer(settings)
      await other.register('alice')
      for (const name of ['alice', 'alice@studio.example']) await attack(other, 10, name)
      const headers = { 'X-Forwarded-For': '198.51.100.0' }
      expect((await logInAt(other, '192.0.2.1')).status).to.equal(429)
      await other.makeCode('alice', 'rst_code')
      const body = { username: 'alice', code: 'rst_code', new_password: 'another honest phrase' }
      const done = await other.call('POST', `${auth}/reset`, { body, headers })
      expect(done.status).to.equal(200)
      for (const name of ['alice', 'alice@studio.example']) {
        for (const address of ['198.51.100.0', '192.0.2.1']) {
          const answer = await logInAt(other, address, 'another honest phrase', name)
          expect(answer.status, `${name} at ${address}`).to.equal(200)
        }
      }
    })

    it('refuses a name after a hundred failures in an hour, known or not', async () => {
      const other = await openAccountsServer(settings)
      await other.register('alice')
      await attack(other, 10, 'alice')
      await attack(other, 10, 'nobody')
      const answers = [
        await logInAt(other, '192.0.2.2', password, 'alice'),
        await logInAt(other, '192.0.2.2', 'wrong', 'nobody'),
      ]
      for (const answer of answers) {
        expect(outcome(answer)).to.deep.equal(limited)
        expect(answer.headers['retry-after']).to.equal('3600')
      }
      expect((await logInAt(other, '192.0.2.2', 'wrong', 'other')).status).to.equal(401)
      other.clock.nowMs += 60 * minute
      expect((await logInAt(other, '192.0.2.2')).status).to.equal(200)
    })
  })

  it('refuses at once what more than fifty passwords wait before', async () => {
    const gate = Promise.withResolvers<boolean>()
    class Held extends Passwords {
      override verify = () => gate.promise
    }
    const { base } = await openAccountsServer({
      passwords: new Held(),
      trustedProxies: ['127.0.0.1'],
    })
    const all = Array.from({ length: 100 }, (_, at) => logInAlone(base, `192.0.2.${at}`))
    await Promise.race(all)
    gate.resolve(false)
    const statuses = await Promise.all(all)
    const waited = 50 + Math.max(1, availableParallelism() - 1)
    expect(statuses.filter(status => status === 401).length).to.be.at.least(waited)
    expect(statuses).to.include(503)
  })
})

describe('addressKey', () => {
  const cases: [address: string, key: string][] = [
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:0db8::5', '2001:db8:0:0::/64'],
    ['::1', 'loopback'],
    ['127.200.3.4', 'loopback'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['64:ff9b::192.0.2.7', '64:ff9b:0:0::/64'],
  ]
  for (const [address, key] of cases) {
    it(`counts ${address} as ${key}`, () => expect(addressKey(address)).to.equal(key))
  }
})
