import { expect } from 'chai'
import { hashOfSecret } from '../../../src/server/accounts/service-tokens.ts'
import { signUp, withAccountsServer } from './harness.ts'

const minute = 60_000

describe('registration by invitation', () => {
  it('accepts each invitation for one account', () =>
    withAccountsServer(
      async registry => {
        const hash = hashOfSecret('inv_one')
        const { nowMs } = registry.clock
        const expiresAtMs = nowMs + minute
        await registry.store.createInvite({ hash, createdAtMs: nowMs, expiresAtMs })
        for (const more of [{}, { invite: 'inv_two' }]) {
          const answer = await signUp(registry, 'alice', more)
          expect([answer.status, answer.json.code]).to.deep.equal([403, 'registration-closed'])
        }
        expect((await signUp(registry, 'alice', { invite: 'inv_one' })).status).to.equal(201)
        const again = { invite: 'inv_one', email: 'bob@studio.example' }
        expect((await signUp(registry, 'bob', again)).status).to.equal(403)
        expect(await registry.audited('registration.refused')).to.have.length(2)
      },
      { registration: 'invite' },
    ))

  it('reports taken names only for a valid invitation', () =>
    withAccountsServer(
      async registry => {
        const { nowMs } = registry.clock
        const invite = { createdAtMs: nowMs, expiresAtMs: nowMs + minute }
        for (const code of ['inv_one', 'inv_two']) {
          await registry.store.createInvite({ ...invite, hash: hashOfSecret(code) })
        }
        expect((await signUp(registry, 'alice', { invite: 'inv_one' })).status).to.equal(201)
        const guessed = await signUp(registry, 'alice', { invite: 'inv_guessed' })
        expect([guessed.status, guessed.json.code]).to.deep.equal([403, 'registration-closed'])
        const invited = await signUp(registry, 'alice', { invite: 'inv_two' })
        expect(invited.json.code).to.equal('account-exists')
        const other = { invite: 'inv_two', email: 'bob@studio.example' }
        expect((await signUp(registry, 'bob', other)).status).to.equal(201)
      },
      { registration: 'invite' },
    ))
})

describe('closed registration', () => {
  it('refuses every registration', () =>
    withAccountsServer(
      async registry => {
        const answer = await signUp(registry, 'alice', { invite: 'inv_one' })
        expect([answer.status, answer.json.code]).to.deep.equal([403, 'registration-closed'])
      },
      { registration: 'closed' },
    ))
})
