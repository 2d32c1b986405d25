import { expect } from 'chai'
import {
  auth,
  outcome,
  sharedAccountsServer,
  signUp,
  type AccountsServer,
  openAccountsServer,
} from './harness.ts'

const minute = 60_000

describe('registration', () => {
  const registry = sharedAccountsServer()

  it('returns tokens, the account and its location', async () => {
    const answer = await signUp(registry, 'Alice')
    expect(answer.status).to.equal(201)
    expect(answer.headers).to.include({ location: `${auth}/me`, 'cache-control': 'no-store' })
    expect(answer.json).to.include({ expires_in: 86_400, refresh_expires_in: 30 * 86_400 })
    const { id } = answer.json.account
    expect(await registry.audited('account.registered', id)).to.have.length(1)
  })

  it('creates one account when many requests use one name', async () => {
    const names = ['carol', 'CAROL', 'Carol', 'cArOl']
    const all = await Promise.all(
      Array.from({ length: 40 }, (_, at) => {
        const email = `a${at}@studio.example`
        return signUp(registry, names[at % names.length], { email })
      }),
    )
    const statuses = all.map(({ status }) => status).toSorted()
    expect(statuses).to.deep.equal([201, ...Array.from({ length: 39 }, () => 409)])
  })

  it('returns the same refusal for a taken name and a taken address', async () => {
    await signUp(registry, 'dave', { email: 'dave@studio.example' })
    const name = await signUp(registry, 'DAVE', { email: 'other@studio.example' })
    const email = await signUp(registry, 'bob', { email: 'Dave@Studio.Example' })
    expect(outcome(name)).to.deep.equal([409, 'account-exists'])
    expect(name.json).to.deep.equal(email.json)
  })

  it('takes 3 characters of a username and 8 of a password', async () => {
    const least = { email: 'abc@studio.example', password: 'eightchr' }
    expect((await signUp(registry, 'abc', least)).status).to.equal(201)
  })

  it('takes addresses of a studio without a domain, and of any alphabet', async () => {
    for (const [at, email] of ['alice@studio', 'x@localhost', 'jürgen@studio.de'].entries()) {
      const answer = await signUp(registry, `local-${at}`, { email })
      expect([answer.status, answer.json.account?.email]).to.deep.equal([201, email])
    }
  })

  const refused: [member: string, values: readonly unknown[]][] = [
    ['username', ['ab', 'a'.repeat(65), ' alice', 'al ice', '-alice', 'al..ice', 'al%ice']],
    // Confusable, and no texts.
    ['username', ['\u0430lice', 'ali\u200bce', 'e\u0301ric', null, undefined, 7, ['alice']]],
    ['email', ['', 'a.x.example', 'a b@x.example', 'a@x.example\r\nBcc: b@x.example']],
    ['email', [`a@${'x'.repeat(250)}.example`, 'a\u0000@x.example', null, undefined]],
    ['password', ['', 'seven77', 'a'.repeat(1025), 'lone \ud800 surrogate', null, undefined, 7]],
  ]
  for (const [member, values] of refused) {
    it(`refuses a ${member} such as ${JSON.stringify(values[1])}, without repeating a password`, async () => {
      for (const value of values) {
        const email = { email: 'refused@studio.example' }
        const answer = await signUp(registry, 'refused', { ...email, [member]: value })
        expect(outcome(answer), String(value)).to.deep.equal([422, 'validation-failed'])
        expect(answer.json.errors[0].pointer).to.equal(`/${member}`)
        if (member === 'password' && value) expect(answer.text).not.to.include(value)
      }
    })
  }

  it('accepts a common password on loopback and refuses it elsewhere', async () => {
    const common = { email: 'common@studio.example', password: 'password123' }
    expect((await signUp(registry, 'common', common)).status).to.equal(201)
    const other = await openAccountsServer({ local: false })
    const bad = [
      { password: 'password123' },
      { username: 'alice-alice', password: 'Alice-Alice' },
      { password: 'someone@studio.example' },
      { email: 'grace.hopper@studio.example', password: 'Grace.Hopper' },
    ]
    for (const more of bad) {
      const answer = await signUp(other, 'alice', more)
      expect(outcome(answer), more.password).to.deep.equal([422, 'password-blocked'])
      expect(answer.json.errors[0].pointer).to.equal('/password')
    }
    expect((await signUp(other, 'alice')).status).to.equal(201)
  })

  it('limits registrations by address, except on loopback', async () => {
    const many = async (server: AccountsServer) => {
      const statuses = []
      for (let at = 0; at < 101; at++) {
        const more = { email: `many${at}@studio.example` }
        statuses.push((await signUp(server, `many${at}`, more)).status)
      }
      return statuses
    }
    const hundred = Array.from({ length: 100 }, () => 201)
    const other = await openAccountsServer({ local: false })
    expect(await many(other)).to.deep.equal([...hundred, 429])
    other.clock.nowMs += 60 * minute
    expect((await signUp(other, 'late')).status).to.equal(201)

    const local = await openAccountsServer()
    expect(await many(local)).to.deep.equal([...hundred, 201])
  })
})
describe('registration by invitation', () => {
  const registry = sharedAccountsServer({ registration: 'invite' })

  it('accepts each invitation once, for its user name, and reports taken names only with one', async () => {
    await registry.makeCode('alice', 'inv_one')
    const closed = [403, 'registration-closed']
    for (const more of [{}, { invite: 'inv_two' }]) {
      expect(outcome(await signUp(registry, 'alice', more))).to.deep.equal(closed)
    }
    expect(await registry.audited('registration.refused')).to.have.length(1)
    expect((await signUp(registry, 'alice', { invite: 'inv_one' })).status).to.equal(201)
    const guessed = await signUp(registry, 'alice', { invite: 'inv_guessed' })
    expect(outcome(guessed)).to.deep.equal(closed)
    await registry.makeCode('bob', 'inv_two')
    const email = 'bob@studio.example'
    const other = await signUp(registry, 'bob', { invite: 'inv_one', email })
    expect(outcome(other)).to.deep.equal(closed)
    const taken = await signUp(registry, 'bob', { invite: 'inv_two' })
    expect(taken.json.code).to.equal('account-exists')
    expect((await signUp(registry, 'bob', { invite: 'inv_two', email })).status).to.equal(201)
  })
})

describe('closed registration', () => {
  it('refuses every registration', async () => {
    const registry = await openAccountsServer({ registration: 'closed' })
    const answer = await signUp(registry, 'alice', { invite: 'inv_one' })
    expect(outcome(answer)).to.deep.equal([403, 'registration-closed'])
  })
})
