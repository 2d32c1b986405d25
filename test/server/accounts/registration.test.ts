import { expect } from 'chai'
import fc from 'fast-check'
import { usernamePattern } from '../../../src/lib/accounts/wire.ts'
import { codePoint } from '../../helpers/code-point.ts'
import { auth, signUp, password, type AccountsServer, withAccountsServer } from './harness.ts'

const minute = 60_000

describe('registration', () => {
  it('returns tokens, the account and its location', () =>
    withAccountsServer(async registry => {
      const answer = await signUp(registry, 'Alice')
      expect(answer.status).to.equal(201)
      expect(answer.headers).to.include({ location: `${auth}/me`, 'cache-control': 'no-store' })
      expect(answer.json).to.include({ expires_in: 86_400, refresh_expires_in: 30 * 86_400 })
      expect(answer.json.account.id).to.match(/^[0-9a-f]{8}-[0-9a-f]{4}-7/)
      expect(await registry.audited('account.registered')).to.have.length(1)
    }))

  it('creates one account when many requests use one name', () =>
    withAccountsServer(async registry => {
      const names = ['alice', 'ALICE', 'Alice', 'aLiCe']
      const all = await Promise.all(
        Array.from({ length: 40 }, (_, at) => {
          const email = `a${at}@studio.example`
          return signUp(registry, names[at % names.length], { email })
        }),
      )
      const statuses = all.map(({ status }) => status).toSorted()
      expect(statuses).to.deep.equal([201, ...Array.from({ length: 39 }, () => 409)])
      expect(await registry.store.listAccounts({ limit: 9 })).to.have.length(1)
    }))

  it('returns the same refusal for a taken name and a taken address', () =>
    withAccountsServer(async registry => {
      await signUp(registry, 'alice')
      const name = await signUp(registry, 'ALICE', { email: 'other@studio.example' })
      const email = await signUp(registry, 'bob', { email: 'Someone@Studio.Example' })
      expect([name.status, name.json.code]).to.deep.equal([409, 'account-exists'])
      const { instance: _, ...first } = name.json
      const { instance: __, ...second } = email.json
      expect(first).to.deep.equal(second)
    }))

  const wrongNames = [
    'ab',
    'a'.repeat(65),
    '\u0430lice',
    '\uff21lice',
    'ali\u200bce',
    'ali\u202ece',
    'e\u0301ric',
    '\u0130stanbul',
    'a\u0000b',
    'a\ud800b',
    ' alice',
    'alice ',
    'al ice',
    'alice\n',
    '-alice',
    'alice.',
    'al..ice',
    "' OR 1=1--",
    '"; DROP TABLE accounts',
    'al%ice',
    '<script>',
    '\u001b[31mred',
    'admin',
    'Root',
    null,
    7,
    ['alice'],
    { $ne: null },
  ]
  it('refuses invalid, confusable and reserved names', () =>
    withAccountsServer(async registry => {
      for (const name of wrongNames) {
        const answer = await signUp(registry, name)
        expect([answer.status, answer.json.code], String(name)).to.deep.equal([
          422,
          'validation-failed',
        ])
        expect(answer.json.errors[0].pointer).to.equal('/username')
      }
      expect(await registry.store.listAccounts({ limit: 9 })).to.have.length(0)
    }))

  it('returns 422 for any text outside the name pattern', () =>
    withAccountsServer(async registry => {
      const strange = fc.string({ unit: codePoint, maxLength: 80 })
      await fc.assert(
        fc.asyncProperty(strange, async name => {
          fc.pre(!usernamePattern.test(name))
          expect((await signUp(registry, name)).status).to.equal(422)
        }),
        { numRuns: 60 },
      )
    }))

  const wrongEmails = [
    '',
    'a@b',
    'a@localhost',
    'a..b@x.example',
    'a b@x.example',
    'a@x.example\r\nBcc: b@x.example',
    `${'a'.repeat(65)}@x.example`,
    `a@${'x'.repeat(250)}.example`,
    '\u00e4@x.example',
    null,
  ]
  it('refuses invalid email addresses', () =>
    withAccountsServer(async registry => {
      for (const email of wrongEmails) {
        const answer = await signUp(registry, 'alice', { email })
        expect(answer.status, String(email)).to.equal(422)
        expect(answer.json.errors[0].pointer).to.equal('/email')
      }
    }))

  const wrongPasswords = ['', 'seven77', 'a'.repeat(1025), 'lone \ud800 surrogate', null, 12345678]
  it('refuses passwords too short or too long without repeating them', () =>
    withAccountsServer(async registry => {
      for (const secret of wrongPasswords) {
        const answer = await signUp(registry, 'alice', { password: secret })
        expect(answer.status).to.equal(422)
        expect(answer.json.errors[0].pointer).to.equal('/password')
        if (typeof secret === 'string' && secret !== '') expect(answer.text).not.to.include(secret)
      }
    }))

  const assigned = ['is_admin', 'id', 'kind', 'email_verified', '__proto__', 'constructor', 'role']
  for (const name of assigned) {
    it(`refuses the member ${name}`, () =>
      withAccountsServer(async registry => {
        const body = `{"username":"alice","email":"a@x.example","password":"${password}","${name}":{"admin":true}}`
        const answer = await registry.call('POST', `${auth}/register`, { body })
        expect([answer.status, answer.json.code]).to.deep.equal([422, 'validation-failed'])
        expect(answer.json.errors[0].detail).to.include(name)
        expect(({} as Record<string, unknown>).admin).to.equal(undefined)
        expect(await registry.store.listAccounts({ limit: 9 })).to.have.length(0)
      }))
  }

  it('warns about a common password on loopback and refuses it elsewhere', async () => {
    const bad: [secret: string, more?: object][] = [
      ['password123'],
      ['alice-alice', { username: 'alice-alice' }],
      ['someone@studio.example'],
    ]
    await withAccountsServer(async registry => {
      expect((await signUp(registry, 'alice', { password: 'password123' })).status).to.equal(201)
      const [warning] = registry.logged.filter(({ level }) => level === 'warn')
      expect(warning?.fields).to.deep.equal({ username: 'alice', flaw: 'common' })
    })
    await withAccountsServer(
      async registry => {
        for (const [secret, more] of bad) {
          const answer = await signUp(registry, 'alice', { password: secret, ...more })
          expect([answer.status, answer.json.code]).to.deep.equal([422, 'password-blocked'])
          expect(answer.json.errors[0].pointer).to.equal('/password')
        }
        expect((await signUp(registry, 'alice')).status).to.equal(201)
      },
      { local: false },
    )
  })

  it('limits registrations by address, except on loopback', async () => {
    const many = async (registry: AccountsServer) => {
      const statuses = []
      for (let at = 0; at < 4; at++) {
        const more = { email: `a${at}@studio.example` }
        statuses.push((await signUp(registry, `alice${at}`, more)).status)
      }
      return statuses
    }
    const limits = { maxRegistrations: 3 }
    await withAccountsServer(
      async registry => {
        expect(await many(registry)).to.deep.equal([201, 201, 201, 429])
        registry.clock.nowMs += 60 * minute
        expect((await signUp(registry, 'late')).status).to.equal(201)
      },
      { local: false, limits },
    )
    await withAccountsServer(
      async registry => expect(await many(registry)).to.deep.equal([201, 201, 201, 201]),
      { limits },
    )
  })
})
