import { expect } from 'chai'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import {
  type AccountsOwner,
  type RunningAccounts,
  createAccountsOwner,
  createCaller,
} from '../helpers/accounts.ts'
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
  const whole = ['registry.db', 'signing-keys.json']

  before(async () => {
    folder = fs.mkdtempSync(join(tmpdir(), 'registry-backup-'))
    dataDir = join(folder, 'data')
    backup = join(folder, 'backup')
    registry = await accountsInProcess({ dataDir })
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
    expect(await owner.ask(['backup', '--out', backup])).to.deep.equal({ folder: backup })
    writing = false
    await Promise.all(writers)
    expect(made.length).to.be.greaterThan(acknowledged.length)
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
    const restored = await accountsInProcess({ dataDir: dir })
    try {
      await check(createCaller(restored.url), dir)
    } finally {
      await restored.stop()
    }
  }

  it('comes back whole: every account with its session, none half', () =>
    served(whole, async (caller, dir) => {
      const { users } = await owner.ask(['users', 'list'], dir)
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

  it('voids access tokens without the keys; logins go on with a refresh, as service tokens do', () =>
    served(['registry.db'], async caller => {
      expect(await caller.me(alice.access_token)).to.equal('401 token-invalid')
      const { json } = await caller.refresh(alice.refresh_token)
      expect(await caller.me(json.access_token)).to.equal('200')
      expect(await caller.me(token)).to.equal('200')
    }))

  it('is for its user alone', () => {
    expect(fs.statSync(backup).mode & 0o777).to.equal(0o700)
    expect(fs.readdirSync(backup).toSorted()).to.deep.equal(whole)
    for (const name of whole) {
      expect(fs.statSync(join(backup, name)).mode & 0o777).to.equal(0o600)
    }
    expect(fs.readdirSync(folder).filter(name => name.includes('.tmp'))).to.deep.equal([])
  })

  it('writes over nothing', async () => {
    const again = await owner.run(['backup', '--out', backup])
    expect(again.code).to.equal(1)
    expect(again.stderr).to.contain('exists already')
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
