import { expect } from 'chai'
import { runCommand } from '../helpers/in-process.ts'
import { createCaller, quickLimits } from '../helpers/accounts-caller.ts'
import { type AccountsOwner, createAccountsOwner } from '../helpers/accounts-owner.ts'
import type { RunningAccounts } from '../helpers/accounts-process.ts'
import { until } from '../helpers/until.ts'
import { accountsInProcess } from '../helpers/in-process-servers.ts'

describe('administration of a registry that runs', () => {
  let registry: RunningAccounts
  let owner: AccountsOwner
  let caller: ReturnType<typeof createCaller>

  before(async () => {
    registry = await accountsInProcess({ flags: quickLimits })
    owner = createAccountsOwner(registry.dataDir)
    caller = createCaller(registry.url)
  })

  after(() => registry.stop())

  async function member(username: string) {
    const { access_token: access, refresh_token: refresh } = await caller.register(username)
    const token = await caller.makeToken(access)
    return { access, refresh, token }
  }

  it('disables an account, ends its logins and tokens, and enables it again', async () => {
    const alice = await member('alice')
    expect(await caller.me(alice.access)).to.equal('200')
    expect(await owner.ask(['users', 'disable', 'Alice@studio.example'])).to.include({
      username: 'alice',
      changed: true,
      ended_sessions: 1,
      ended_tokens: 1,
    })
    expect(await caller.me(alice.access)).to.equal('401 token-revoked')
    expect(await caller.me(alice.token)).to.equal('401 token-revoked')
    expect((await caller.refresh(alice.refresh)).status).to.equal(401)
    expect((await caller.login('alice')).json.code).to.equal('account-disabled')
    expect(await owner.ask(['users', 'enable', 'alice'])).to.include({ changed: true })
    expect(await caller.me(alice.access)).to.equal('401 token-revoked')
    expect(await caller.me(alice.token)).to.equal('401 token-revoked')
    expect((await caller.login('alice')).status).to.equal(200)
  })

  it('makes a code that sets a new password once', async () => {
    const { access } = await member('carol')
    const reset = (code: string, new_password: string) =>
      caller.call('POST', '/reset', undefined, { username: 'carol', code, new_password })
    const made = await owner.run(['users', 'reset-code', 'carol'])
    const code = made.stdout.trimEnd()
    expect(code).to.match(/^rst_[\w-]{27}$/)
    expect(made.stderr).not.to.contain(code)
    expect((await reset(code, 'another honest phrase')).status).to.equal(200)
    expect((await reset(code, 'a third honest phrase')).status).to.equal(401)
    expect((await caller.login('carol', 'another honest phrase')).status).to.equal(200)
    expect((await caller.login('carol')).status).to.equal(401)
    expect(await caller.me(access)).to.equal('401 token-revoked')
  })

  it('rotates the keys while requests flow, and none of them is refused', async () => {
    const { access } = await member('erin')
    const before = kidOf(access)
    const answers: string[] = []
    let flowing = true
    const flow = Array.from({ length: 4 }, async () => {
      while (flowing) answers.push(await caller.me(access))
    })
    await owner.ask(['rotate-key'])
    const kid = async () => kidOf((await caller.login('erin')).json.access_token)
    await until(async () => (await kid()) !== before, 'the server signs with the next key')
    const { keys } = await owner.ask(['rotate-key'])
    flowing = false
    await Promise.all(flow)
    expect(answers.length).to.be.greaterThan(20)
    expect(new Set(answers)).to.deep.equal(new Set(['200']))
    expect(keys.find(({ id }: { id: string }) => id === before)).to.include({ state: 'retired' })
  })

  it('voids every login, and no service token, when the keys are compromised', async () => {
    const { access, refresh, token } = await member('frank')
    await owner.ask(['rotate-key', '--compromised'])
    await until(
      async () => (await caller.me(access)) === '401 token-invalid',
      'the old key is gone',
    )
    expect((await caller.refresh(refresh)).status).to.equal(401)
    expect(await caller.me(token)).to.equal('200')
    expect((await caller.login('frank')).status).to.equal(200)
  })

  it('deletes an account after a question on the terminal, or with --yes', async () => {
    const { access } = await member('grace')
    const unasked = await owner.run(['users', 'delete', 'grace'])
    expect(unasked.code).to.equal(2)
    expect(unasked.stderr).to.contain('--yes')
    const answer = (text: string) =>
      runCommand(['registry', 'users', 'delete', 'grace', '--data-dir', registry.dataDir], {
        typed: [{ await: 'Type the name', send: `${text}\r` }],
      })
    expect((await answer('grac')).code).to.equal(2)
    expect(await caller.me(access)).to.equal('200')
    expect((await answer('grace')).code).to.equal(0)
    expect(await caller.me(access)).to.equal('401 token-revoked')
    await member('heidi')
    await owner.ask(['users', 'delete', 'heidi', '--yes'])
    expect((await caller.login('heidi')).status).to.equal(401)
  })

  it('shows in the audit what was done, by whom, and names what is not there', async () => {
    const { entries } = await owner.ask(['audit', 'alice', '--limit', '3'])
    expect(entries.map(({ action }: { action: string }) => action)).to.deep.equal([
      'login.ok',
      'account.enabled',
      'login.disabled',
    ])
    expect(entries[1].details).to.deep.equal({ by: 'owner' })
    const unknown = await owner.run(['users', 'enable', 'nobody', '--json'])
    expect(unknown.code).to.equal(3)
    expect(JSON.parse(unknown.stdout).error.code).to.equal('request_refused')
  })
})

function kidOf(token: string): string {
  return JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()).kid
}
