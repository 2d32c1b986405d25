import { expect } from 'chai'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { newFolder } from '../helpers/cleanup.ts'
import {
  type AccountsOwner,
  type RunningAccounts,
  createAccountsOwner,
  createCaller,
} from '../helpers/accounts.ts'
import { expectEnd, runCommand } from '../helpers/in-process.ts'
import { cleanEnv } from '../helpers/program.ts'
import { accountsInProcess } from '../helpers/in-process-servers.ts'

describe('backup of a registry that runs', () => {
  let folder: string
  let backup: string
  let registry: RunningAccounts
  let owner: AccountsOwner
  let alice: { access_token: string; refresh_token: string }
  let token: string
  const whole = ['registry.db', 'signing-keys.json']

  before(async () => {
    folder = newFolder()
    backup = join(folder, 'backup')
    registry = await accountsInProcess({ dataDir: join(folder, 'data') })
    owner = createAccountsOwner(registry.dataDir)
    const caller = createCaller(registry.url)
    alice = await caller.register('alice')
    token = await caller.makeToken(alice.access_token)
    expect(await owner.ask(['backup', '--out', backup])).to.deep.equal({ folder: backup })
    await caller.register('late')
  })

  /** The files of the backup in a data folder of their own, served. */
  async function served(
    files: readonly string[],
    check: (caller: ReturnType<typeof createCaller>) => Promise<void>,
  ): Promise<void> {
    const dir = fs.mkdtempSync(join(folder, 'restored-'))
    for (const name of files) fs.cpSync(join(backup, name), join(dir, name))
    const restored = await accountsInProcess({ dataDir: dir })
    await check(createCaller(restored.url))
  }

  it('brings accounts, service tokens and sessions back as they were', () =>
    served(whole, async caller => {
      expect(await caller.me(token)).to.equal('200')
      expect((await caller.login('alice')).status).to.equal(200)
      expect(await caller.me(alice.access_token)).to.equal('200')
      expect((await caller.login('late')).status).to.equal(401)
    }))

  it('voids access tokens without the keys; logins go on with a refresh, as service tokens do', () =>
    served(['registry.db'], async caller => {
      expect(await caller.me(alice.access_token)).to.equal('401 token-invalid')
      const { json } = await caller.refresh(alice.refresh_token)
      expect(await caller.me(json.access_token)).to.equal('200')
      expect(await caller.me(token)).to.equal('200')
    }))

  it('is for its user alone, and writes over nothing', async () => {
    expect(fs.statSync(backup).mode & 0o777).to.equal(0o700)
    expect(fs.readdirSync(backup).toSorted()).to.deep.equal(whole)
    for (const name of whole) {
      expect(fs.statSync(join(backup, name)).mode & 0o777).to.equal(0o600)
    }
    expectEnd(await owner.run(['backup', '--out', backup]), 1, 'exists already')
    expect(fs.readdirSync(folder).filter(name => name.includes('.tmp'))).to.deep.equal([])
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
