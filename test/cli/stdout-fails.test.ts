import { expect } from 'chai'
import { spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { type AccountHome, createAccountHome } from '../helpers/account-home.ts'
import { FullDisk } from '../helpers/in-process.ts'
import { type Ended, exitOf, root, textOf } from '../helpers/program.ts'
import { createCaller, password, quickLimits } from '../helpers/accounts-caller.ts'
import type { RunningAccounts } from '../helpers/accounts-process.ts'
import { skipBecause } from '../helpers/skip.ts'
import { accountsInProcess } from '../helpers/in-process-servers.ts'

describe('service-cli when stdout cannot be written', () => {
  let registry: RunningAccounts
  let home: AccountHome

  before(async function () {
    if (process.platform !== 'linux') skipBecause(this, '/dev/full is a device of Linux')
    registry = await accountsInProcess({ flags: quickLimits })
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

  const data = () => ['--data-dir', registry.dataDir]
  const secrets: [name: string, args: () => readonly string[]][] = [
    ['service token', () => ['token', 'create', 'ci']],
    ['invitation', () => ['registry', 'users', 'add', 'bob', ...data()]],
    ['reset code', () => ['registry', 'users', 'reset-code', 'alice', ...data()]],
    ['key', () => ['keys', 'create', 'anna']],
  ]
  for (const [name, args] of secrets) {
    it(`fails when a ${name} cannot be shown, also to a pipe whose reader has gone`, async () => {
      const { code, stderr } = await runHere(args())
      expect(code, stderr).to.equal(1)
      expect(stderr).to.contain('cannot write to stdout (ENOSPC)')
      if (name !== 'service token') return
      const child = home.start(args())
      child.stdout?.destroy()
      expect(await exitOf(child)).to.equal(1)
    })
  }
})
