import { expect } from 'chai'
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type AccountHome, createAccountHome } from '../helpers/account-home.ts'
import { type LiteralAccounts, startLiteralAccounts } from '../helpers/literal-accounts.ts'
import { exitOf, textOf } from '../helpers/program.ts'
import { skipBecause } from '../helpers/skip.ts'

const secret = 'hunter22-hunter22'

const closed = 'http://127.0.0.1:1'

/** What comes through a real stdin; the other errors have a table in test/cli. */
const cases: { args: string[]; input: string; code: number; says: string }[] = [
  { args: ['login', '--password-stdin'], input: secret, code: 2, says: 'username is missing' },
  { args: ['login', 'bob', '--password-stdin'], input: '', code: 2, says: 'stdin is empty' },
  { args: ['login', 'bob', '--password-stdin'], input: secret, code: 4, says: 'refused the login' },
  { args: ['login', '--token-stdin'], input: `${secret} ${secret}`, code: 2, says: 'spaces' },
  { args: ['token', 'create'], input: secret, code: 2, says: 'missing 1 required arg' },
  { args: ['login', 'bob'], input: secret, code: 2, says: '--password-stdin' },
]

describe('errors of the account commands as programs', () => {
  let registry: LiteralAccounts
  let home: AccountHome

  before(async () => {
    registry = await startLiteralAccounts()
    home = createAccountHome(registry.url)
  })

  after(async () => {
    await registry?.close()
    home?.remove()
  })

  for (const { args, input, code, says } of cases) {
    it(`end with ${code} for ${args.join(' ')} and ${input.length} bytes on stdin`, async () => {
      const ended = await home.run(['--json', ...args], { input })
      expect(ended.code, ended.stderr).to.equal(code)
      expect(ended.stdout.split('\n')).to.have.length(2)
      const { error } = JSON.parse(ended.stdout)
      expect(`${error.message} ${error.hint}`).to.contain(says)
      expect(ended.stderr).to.equal('')
    })
  }

  it('leave nothing behind', () => {
    expect(readdirSync(home.folder, { recursive: true })).to.deep.equal([])
  })

  it('say where a broken configuration is broken, not what stands there', async () => {
    mkdirSync(dirname(home.configPath), { recursive: true, mode: 0o700 })
    writeFileSync(home.configPath, `version = 1\naccess_token = ${secret}\n`, { mode: 0o600 })
    const { code, stderr } = await home.run(['whoami'])
    expect(code).to.equal(2)
    expect(stderr).to.contain(`${home.configPath}:2:`)
    writeFileSync(home.configPath, '')
  })

  it('refuse a configuration behind a symbolic link', async () => {
    const other = createAccountHome(registry.url)
    try {
      mkdirSync(dirname(other.configPath), { mode: 0o700 })
      symlinkSync(home.configPath, other.configPath)
      const { code, stderr } = await other.run(['whoami'])
      expect(code).to.equal(2)
      expect(stderr).to.contain('symbolic link').and.contain(other.configPath)
    } finally {
      other.remove()
    }
  })

  it('repeat no secret', () => {
    expect(home.leaks([secret])).to.deep.equal([])
  })

  it('leave passwords and tokens out of the process list', async function () {
    if (process.platform !== 'linux') skipBecause(this, 'there is no /proc on this system')
    for (const args of [
      ['login', 'bob', '--password', secret],
      ['--token', secret, 'whoami'],
    ]) {
      const path = args[0] === 'login' ? '/api/v1/auth/login' : '/api/v1/auth/me'
      const held = registry.hold(path)
      const child = home.start(args)
      const ended = Promise.all([exitOf(child), textOf(child.stdout), textOf(child.stderr)])
      await held.begun
      const words = readFileSync(`/proc/${child.pid}/cmdline`, 'latin1')
      held.release()
      expect(words.replaceAll('\0', '')).to.equal('service-cli')
      expect((await ended)[0]).to.equal(4)
    }
  })

  it('end quietly when nobody reads the result', async () => {
    const child = home.start(['whoami', '--json'])
    child.stdout?.destroy()
    const [code, stderr] = await Promise.all([exitOf(child), textOf(child.stderr)])
    expect({ code, stderr }).to.deep.equal({ code: 4, stderr: '' })
  })
})

describe('start of the account commands', () => {
  let home: AccountHome

  before(() => {
    home = createAccountHome(closed)
  })

  after(() => home?.remove())

  const loaded = async (args: readonly string[]) =>
    (await home.runProgram(args, { env: { NODE_DEBUG: 'esm' } })).stderr

  it('loads neither prompts nor schemas for a command that needs none', async () => {
    for (const args of [[], ['--token', 'x']]) {
      const modules = await loaded(['whoami', ...args])
      expect(modules).to.contain('/@oclif/core/')
      for (const library of ['/@inquirer/', '/node_modules/zod/', '/pino/']) {
        expect(modules).not.to.contain(library)
      }
    }
  })

  it('writes nothing for completion until it is asked to', async function () {
    expect((await home.run(['--help'])).stdout).to.contain('autocomplete')
    expect(readdirSync(home.folder)).to.deep.equal([])
    const env = { XDG_CACHE_HOME: home.folder }
    const made = await home.runProgram(['autocomplete', 'bash'], { env })
    expect(made.code, made.stderr).to.equal(0)
    const functions = join(home.folder, 'service-cli', 'autocomplete', 'functions', 'bash')
    const asked = `source ${join(functions, 'service-cli.bash')}
      COMP_WORDS=(service-cli token create --) COMP_CWORD=3
      _service-cli_autocomplete; echo "\${COMPREPLY[*]}"`
    const { stdout, error } = spawnSync('bash', ['-c', asked], { encoding: 'utf8' })
    if (error !== undefined) skipBecause(this, 'there is no bash on this machine')
    expect(stdout.trim().split(' ')).to.include.members(['--scope', '--days', '--registry'])
  })
})
