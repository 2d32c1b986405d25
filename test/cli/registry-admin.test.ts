import { expect } from 'chai'
import { join } from 'node:path'
import { expectEnd, runCommand } from '../helpers/in-process.ts'
import {
  type AccountsOwner,
  type RunningAccounts,
  createAccountsOwner,
  createCaller,
} from '../helpers/accounts.ts'
import { ask } from '../helpers/mcp.ts'
import { until } from '../helpers/until.ts'
import { accountsInProcess } from '../helpers/in-process-servers.ts'

describe('administration of a registry that runs', () => {
  let registry: RunningAccounts
  let owner: AccountsOwner
  let caller: ReturnType<typeof createCaller>

  before(async () => {
    registry = await accountsInProcess()
    owner = createAccountsOwner(registry.dataDir)
    caller = createCaller(registry.url)
  })

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
      ended_sessions: 1,
    })
    expect(await caller.me(alice.access)).to.equal('401 token-revoked')
    expect(await caller.me(alice.token)).to.equal('401 token-revoked')
    expect((await caller.refresh(alice.refresh)).status).to.equal(401)
    expect((await caller.login('alice')).json.code).to.equal('account-disabled')
    expect(await owner.ask(['users', 'enable', 'alice'])).to.include({ disabled: false })
    expect(await caller.me(alice.access)).to.equal('401 token-revoked')
    expect(await caller.me(alice.token)).to.equal('401 token-revoked')
    expect((await caller.login('alice')).status).to.equal(200)
  })

  it('makes a code for a new user once, and for no user that is there', async () => {
    const { code, username } = await owner.ask(['users', 'add', 'Newcomer'])
    expect(code).to.match(/^[0-9a-f]{32}$/)
    expect(username).to.equal('Newcomer')
    await member('newcomer')
    expectEnd(await owner.run(['users', 'add', 'NEWCOMER']), 3, 'reset-code NEWCOMER')
    const invalid = await owner.run(['users', 'add', 'a b'])
    expect(invalid.code).to.equal(2)
  })

  it('sets team and email address, and refuses invalid ones and that of another account', async () => {
    await member('dan')
    await member('eve')
    const email = 'd@x'
    const done = await owner.ask(['users', 'set', 'dan', '--team', 'FX', '--email', email])
    expect(done).to.include({ username: 'dan', team: 'fx', email })
    expect((await caller.login(email)).status).to.equal(200)
    expect(await owner.ask(['users', 'set', 'dan', '--team', ''])).to.include({ team: null, email })
    const { users } = await owner.ask(['users', 'list'])
    expect(users.find((user: any) => user.username === 'dan')).to.deep.include({
      email,
      team: null,
      disabled_at: null,
    })
    const refused: [args: string[], code: number, says: string][] = [
      [[], 2, '--team or --email'],
      [['--team', 'a b'], 2, 'team name'],
      [['--email', 'nowhere'], 2, 'email address'],
      [['--email', 'EVE@studio.example'], 3, 'another account'],
    ]
    for (const [args, code, says] of refused) {
      const ended = await owner.run(['users', 'set', 'dan', ...args])
      expect([ended.code, ended.stdout]).to.deep.equal([code, ''])
      expect(ended.stderr).to.contain(says)
    }
  })

  it('publishes a key and signs with it while requests flow, and none of them is refused', async () => {
    const { access } = await member('erin')
    const before = kidOf(access)
    const answers: string[] = []
    let flowing = true
    const flow = Array.from({ length: 2 }, async () => {
      while (flowing) answers.push(await caller.me(access))
    })
    expectEnd(await owner.run(['rotate-key', '--activate']), 3)
    const next = await owner.ask(['rotate-key'])
    expect(next).to.include({ state: 'next', file: join(registry.dataDir, 'signing-keys.json') })
    const published = async () => {
      const { json } = await ask(`${registry.url}/.well-known/jwks.json`)
      return json.keys.map(({ kid }: { kid: string }) => kid)
    }
    await until(async () => (await published()).includes(next.kid), 'the next key is published')
    expect(kidOf((await caller.login('erin')).json.access_token)).to.equal(before)
    expect((await owner.run(['rotate-key'])).stderr).to.contain('--activate')
    expect(await owner.ask(['rotate-key', '--activate'])).to.include({
      kid: next.kid,
      state: 'signing',
    })
    const kid = async () => kidOf((await caller.login('erin')).json.access_token)
    await until(async () => (await kid()) === next.kid, 'the server signs with the next key')
    flowing = false
    await Promise.all(flow)
    expect(await caller.me(access)).to.equal('200')
    expect(new Set(answers)).to.deep.equal(new Set(['200']))
    expect(await published()).to.have.members([next.kid, before])
  })

  it('deletes an account after a question on the terminal, or with --yes', async () => {
    const { access } = await member('grace')
    expectEnd(await owner.run(['users', 'delete', 'grace']), 2, '--yes')
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
