import { expect } from 'chai'
import { hashOfSecret } from '../../../src/server/accounts/service-tokens.ts'
import { type AccountsServer, signUp, withAccountsServer } from './harness.ts'

async function invite({ store, clock }: AccountsServer, name: string, code: string): Promise<void> {
  const expiresAtMs = clock.nowMs + 60_000
  await store.createInvite({ usernameKey: name, hash: hashOfSecret(code), expiresAtMs })
}

describe('registration by invitation', () => {
  it('accepts each invitation once, for its user name', () =>
    withAccountsServer(
      async registry => {
        await invite(registry, 'alice', 'inv_one')
        for (const more of [{}, { invite: 'inv_two' }]) {
          const answer = await signUp(registry, 'alice', more)
          expect([answer.status, answer.json.code]).to.deep.equal([403, 'registration-closed'])
        }
        expect((await signUp(registry, 'alice', { invite: 'inv_one' })).status).to.equal(201)
        const again = { invite: 'inv_one', email: 'bob@studio.example' }
        await invite(registry, 'bob', 'inv_two')
        expect((await signUp(registry, 'bob', again)).status).to.equal(403)
        expect(await registry.audited('registration.refused')).to.have.length(2)
      },
      { registration: 'invite' },
    ))

  it('reports taken names only for a valid invitation', () =>
    withAccountsServer(
      async registry => {
        await invite(registry, 'alice', 'inv_one')
        expect((await signUp(registry, 'alice', { invite: 'inv_one' })).status).to.equal(201)
        const guessed = await signUp(registry, 'alice', { invite: 'inv_guessed' })
        expect([guessed.status, guessed.json.code]).to.deep.equal([403, 'registration-closed'])
        await invite(registry, 'bob', 'inv_two')
        const taken = await signUp(registry, 'bob', { invite: 'inv_two' })
        expect(taken.json.code).to.equal('account-exists')
        const own = { invite: 'inv_two', email: 'bob@studio.example' }
        expect((await signUp(registry, 'bob', own)).status).to.equal(201)
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
