import { expect } from 'chai'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createCaller, quickLimits } from '../helpers/accounts-caller.ts'
import { type AccountsOwner, createAccountsOwner } from '../helpers/accounts-owner.ts'
import type { RunningAccounts } from '../helpers/accounts-process.ts'
import { until } from '../helpers/until.ts'
import { runCommand } from '../helpers/in-process.ts'
import { cleanEnv } from '../helpers/program.ts'
import { accountsInProcess } from '../helpers/in-process-servers.ts'

describe('backup of a registry that runs', () => {
  let folder: string
  let dataDir: string
  let backup: string
  let registry: RunningAccounts
  let owner: AccountsOwner
  let alice: { access_token: string; refresh_token: string }
  let refreshed: { access_token: string; refresh_token: string }
  let token: string
  let acknowledged: readonly string[]
  let accountsOfBackup: number
  const whole = ['registry.db', 'keys.json']

  before(async () => {
    folder = fs.mkdtempSync(join(tmpdir(), 'registry-backup-'))
    dataDir = join(folder, 'data')
    backup = join(folder, 'backup')
    registry = await accountsInProcess({ dataDir, flags: quickLimits })
    owner = createAccountsOwner(dataDir)
    const caller = createCaller(registry.url)
    alice = await caller.register('alice')
    token = await caller.makeToken(alice.access_token)
    const bob = await caller.register('bob')

    const made: string[] = []
    let writing = true
    const writers = [0, 1, 2].map(async lane => {
      for (let at = 0; writing; at++) {
        await caller.register(`w${lane}n${at}`)
        made.push(`w${lane}n${at}`)
      }
    })
    await until(() => made.length >= 10, 'accounts are being made')
    acknowledged = [...made]
    const written = await owner.ask(['backup', '--out', backup])
    writing = false
    await Promise.all(writers)
    expect(made.length).to.be.greaterThan(acknowledged.length)
    expect(written.accounts).to.be.within(2, made.length + 2)
    accountsOfBackup = written.accounts
    refreshed = (await caller.refresh(bob.refresh_token)).json
  })

  after(async () => {
    await registry.stop()
    fs.rmSync(folder, { recursive: true, force: true })
  })

  /** The files of the backup in a data folder of their own, served. */
  async function served(
    files: readonly string[],
    check: (caller: ReturnType<typeof createCaller>, dir: string) => Promise<void>,
  ): Promise<void> {
    const dir = fs.mkdtempSync(join(folder, 'restored-'))
    for (const name of files) fs.cpSync(join(backup, name), join(dir, name))
    const restored = await accountsInProcess({ dataDir: dir, flags: quickLimits })
    try {
      await check(createCaller(restored.url), dir)
    } finally {
      await restored.stop()
    }
  }

  it('comes back whole: every account with its session, none half', () =>
    served(whole, async (caller, dir) => {
      const { users } = await owner.ask(['users', 'list'], dir)
      expect(users).to.have.length(accountsOfBackup)
      const names = users.map(({ username }: { username: string }) => username)
      expect(names).to.include.members(['alice', 'bob', ...acknowledged])
      const db = new DatabaseSync(join(dir, 'registry.db'), { readOnly: true })
      expect(db.prepare('PRAGMA integrity_check').get()).to.deep.include({ integrity_check: 'ok' })
      expect(db.prepare('PRAGMA foreign_key_check').all()).to.deep.equal([])
      db.close()
      expect((await caller.login(names.at(-1))).status).to.equal(200)
    }))

  it('brings service tokens, passwords and sessions back, but for one that was refreshed since', () =>
    served(whole, async caller => {
      expect(await caller.me(token)).to.equal('200')
      expect((await caller.login('alice')).status).to.equal(200)
      expect(await caller.me(alice.access_token)).to.equal('200')
      expect((await caller.refresh(alice.refresh_token)).status).to.equal(200)
      expect((await caller.refresh(refreshed.refresh_token)).status).to.equal(401)
    }))

  it('ends every login without the keys; service tokens go on', () =>
    served(['registry.db'], async caller => {
      expect(await caller.me(alice.access_token)).to.equal('401 token-invalid')
      expect((await caller.refresh(alice.refresh_token)).status).to.equal(401)
      expect(await caller.me(token)).to.equal('200')
    }))

  it('writes over nothing', async () => {
    const again = await owner.run(['backup', '--out', backup])
    expect(again.code).to.equal(1)
    expect(again.stderr).to.contain('not empty')
  })

  it('is not made of a registry that is not there, nor is one made for it', async () => {
    const none = join(folder, 'none')
    const { code, stderr } = await owner.run(['backup', '--out', join(folder, 'x')], none)
    expect(code).to.equal(1)
    expect(stderr).to.contain(`there is no accounts server in ${none}`).and.contain('--data-dir')
    expect(fs.existsSync(none)).to.equal(false)
    const env = cleanEnv({ HOME: none })
    const usual = await runCommand(['registry', 'users', 'list'], { env })
    expect(usual.stderr).to.contain(join(none, '.local/share/service-cli/registry'))
  })
})
