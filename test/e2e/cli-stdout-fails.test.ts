import { expect } from 'chai'
import { spawn } from 'node:child_process'
import { closeSync, existsSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { type AccountHome, createAccountHome } from '../helpers/account-home.ts'
import { FullDisk } from '../helpers/in-process.ts'
import { type Ended, exitOf, root, textOf } from '../helpers/program.ts'
import { createCaller, password, quickLimits } from '../helpers/accounts-caller.ts'
import { type AccountsOwner, createAccountsOwner } from '../helpers/accounts-owner.ts'
import type { RunningAccounts } from '../helpers/accounts-process.ts'
import { skipBecause } from '../helpers/skip.ts'
import { accountsInProcess } from '../helpers/in-process-servers.ts'

describe('service-cli when stdout cannot be written', () => {
  let registry: RunningAccounts
  let owner: AccountsOwner
  let home: AccountHome

  before(async function () {
    if (process.platform !== 'linux') skipBecause(this, '/dev/full is a device of Linux')
    registry = await accountsInProcess({ flags: quickLimits })
    owner = createAccountsOwner(registry.dataDir)
    home = createAccountHome(registry.url)
    await createCaller(registry.url).register('alice')
    const login = ['login', 'alice', '--password-stdin']
    expect((await home.run(login, { input: password })).code).to.equal(0)
  })

  after(async () => {
    await registry?.stop()
    home?.remove()
  })

  const state = () => ({ SERVICE_REGISTRY_DIR: `${home.folder}/state` })

  /** Runs the program with stdout on a full disk. */
  async function runFull(args: readonly string[]): Promise<Ended> {
    const full = openSync('/dev/full', 'w')
    try {
      const child = spawn(process.execPath, ['bin/run.js', ...args], {
        cwd: root,
        env: home.env(state()),
        stdio: ['ignore', full, 'pipe'],
      })
      const [stderr, code] = await Promise.all([textOf(child.stderr), exitOf(child)])
      return { code, stdout: '', stderr }
    } finally {
      closeSync(full)
    }
  }
  /** Runs the command in this process. */
  const runHere = (args: readonly string[]) =>
    home.run(args, { env: state(), stdout: new FullDisk() })

  const tokens = async () => JSON.parse((await home.run(['token', 'list', '--json'])).stdout).tokens

  const commands: [run: (args: readonly string[]) => Promise<Ended>, ...args: string[]][] = [
    [runFull, 'whoami'],
    [runHere, 'whoami', '--json'],
    [runHere, 'token', 'list', '--json'],
    [runHere, 'instances'],
    [runHere, 'keys', 'list', '--json'],
    [runHere, 'mcp-config', 'cursor'],
    [runHere, 'doctor', '--json'],
    [runFull, '--help'],
    [runFull, '--version'],
    [runFull, 'nonsense', '--json'],
  ]
  for (const [run, ...args] of commands) {
    it(`fails: ${args.join(' ')}`, async () => {
      const { code, stderr } = await run(args)
      expect(code, stderr).to.be.oneOf([1, 2])
      expect(stderr).to.contain('cannot write to stdout (ENOSPC)')
    })
  }

  it('stops a server whose --json line cannot be written', async () => {
    const data = `${home.folder}/other`
    const { code, stderr } = await runFull([
      'registry',
      '--port',
      '0',
      '--json',
      '--data-dir',
      data,
    ])
    expect(code, stderr).to.equal(1)
    expect(stderr).to.contain('cannot write to stdout (ENOSPC)')
  })

  it('revokes a service token that was not shown', async () => {
    const { code, stderr } = await runHere(['token', 'create', 'ci'])
    expect(code, stderr).to.equal(1)
    expect(stderr).to.contain('cannot write to stdout (ENOSPC)').and.contain('is revoked')
    expect(await tokens()).to.deep.equal([])
  })

  it('revokes a service token whose reader has closed the pipe', async () => {
    const child = home.start(['token', 'create', 'ci'])
    child.stdout?.destroy()
    const [stderr, code] = await Promise.all([textOf(child.stderr), exitOf(child)])
    expect(code, stderr).to.equal(1)
    expect(stderr).to.contain('is revoked')
    expect(await tokens()).to.deep.equal([])
  })

  it('ends an invitation and a reset code that were not shown', async () => {
    const data = ['--data-dir', registry.dataDir]
    for (const args of [
      ['registry', 'invite', ...data],
      ['registry', 'users', 'reset-code', 'alice', ...data],
    ]) {
      const { code, stderr } = await runHere(args)
      expect(code, stderr).to.equal(1)
      expect(stderr).to.contain('valid once until').and.contain('is revoked')
    }
    const { entries } = await owner.ask(['audit'])
    const actions = entries.map(({ action }: { action: string }) => action)
    expect(actions).to.include.members(['invite.ended', 'reset_code.ended'])
  })

  it('removes a key that was not shown, and the file that was made for it', async () => {
    const { code, stderr } = await runHere(['keys', 'create', 'anna'])
    expect(code, stderr).to.equal(1)
    expect(stderr).to.contain('is revoked')
    const { XDG_CONFIG_HOME = '' } = home.env({})
    expect(existsSync(join(XDG_CONFIG_HOME, 'service-cli/keys.json'))).to.equal(false)
    const listed = await home.run(['keys', 'list', '--json'], {
      env: { SERVICE_REGISTRY_DIR: `${home.folder}/state` },
    })
    expect(JSON.parse(listed.stdout).keys).to.deep.equal([])
  })
})
