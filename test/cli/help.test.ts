import { CommandHelp, Config } from '@oclif/core'
import { expect } from 'chai'
import stringWidth from 'fast-string-width'
import { chmod, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { commandNames, loadCommands } from '../../src/commands/index.ts'
import { pjson, runCommand } from '../helpers/in-process.ts'
import { cleanEnv, root } from '../helpers/program.ts'
import { skipBecause } from '../helpers/skip.ts'

describe('help', () => {
  it('begins with serve, ends with accounts, and names every command', async () => {
    const { code, stdout } = await runCommand(['--help'])
    expect(code).to.equal(0)
    const namesIn = (text: string) =>
      Array.from(text.matchAll(/^ {2}([a-z-]+) {2,}\S/gm), ([, name]) => name)
    const known = new Set(commandNames.map(name => name.split(':')[0]))
    const named = namesIn(stdout)
    expect(named).to.have.members([...known, 'help', 'autocomplete'])
    expect(named[0]).to.equal('serve')
    const accounts = stdout.slice(stdout.indexOf('\nACCOUNTS\n'), stdout.indexOf('\nMORE\n'))
    const ofAccounts = 'register login logout whoami password token publish registry'
    expect(namesIn(accounts)).to.deep.equal(ofAccounts.split(' '))
    for (const line of stdout.split('\n')) expect(stringWidth(line), line).to.be.at.most(80)
  })

  it('is the same by "help", by "-h", by "help help" and without any word', async () => {
    const { stdout } = await runCommand(['--help'])
    for (const words of [['help'], ['-h'], [], ['help', 'help']]) {
      expect(await runCommand(words)).to.deep.equal({ code: 0, stdout, stderr: '' })
    }
  })

  it('of a command is shown by "help COMMAND", with examples and flags', async () => {
    const wanted = await runCommand(['serve', '--help'])
    expect(await runCommand(['help', 'serve'])).to.deep.equal(wanted)
    expect(wanted).to.include({ code: 0, stderr: '' })
    expect(wanted.stdout).to.contain('EXAMPLES').and.contain('service-cli serve --port 0 --json')
    expect(wanted.stdout.replace(/\s+/g, ' ')).to.contain('also run the gateway, or take over when')
    for (const flag of ['--port', '--host', '--public-url', '--no-artefacts', '--limit']) {
      expect(wanted.stdout).to.contain(flag)
    }
    expect((await runCommand(['help', 'nosuch'])).code).to.equal(2)
  })

  it('of a command fits into 80 columns, with every word whole', async () => {
    const loaded = await loadCommands(commandNames)
    const config = await Config.load({ root, pjson })
    for (const name of commandNames) {
      const { summary = '', description = '' } = loaded[name] ?? {}
      expect(summary.length, name).to.be.within(1, 66)
      expect(description, name).not.to.match(/[^\n]\n[^\n]/)
      const command = config.findCommand(name, { must: true })
      const shown = (maxWidth: number) => new CommandHelp(command, config, { maxWidth }).generate()
      for (const line of shown(80).split('\n')) {
        expect(stringWidth(line), `${name}: ${line}`).to.be.at.most(80)
      }
      const words = (text: string) => text.replaceAll(' \\\n', ' ').split(/\s+/)
      expect(words(shown(80)), name).to.deep.equal(words(shown(1000)))
    }
  })
})

describe('completion', () => {
  let home: string
  beforeEach(async () => {
    home = await mkdtemp(join(tmpdir(), 'completion-'))
  })
  afterEach(() => rm(home, { recursive: true }))

  const env = (shell: string) =>
    cleanEnv({ HOME: home, XDG_CACHE_HOME: home, SHELL: `/bin/${shell}` })

  it('tells how it is switched on', async () => {
    const { code, stdout } = await runCommand(['autocomplete'], { env: env('zsh') })
    expect(code).to.equal(0)
    expect(stdout).to.contain('printf "$(service-cli autocomplete script zsh)" >> ~/.zshrc')
    expect(stdout).not.to.contain('CLI')
  })

  it('writes no script where another user could replace it', async function () {
    if (process.getuid === undefined) skipBecause(this, 'owners and modes are of POSIX systems')
    const program = join(home, 'service-cli')
    const scripts = join(program, 'autocomplete')
    await mkdir(scripts, { recursive: true, mode: 0o700 })
    await chmod(program, 0o755)
    for (const folder of [scripts, program, home]) {
      await chmod(folder, 0o777)
      for (const words of [[], ['bash', '--refresh-cache'], ['script', 'bash']]) {
        const refused = await runCommand(['autocomplete', ...words], { env: env('bash') })
        expect(refused.code, folder).to.equal(2)
        expect(refused.stderr).to.contain(`${folder}: others can change it`)
      }
      await chmod(folder, 0o755)
    }
    expect(await readdir(scripts)).to.deep.equal([])
    await chmod(scripts, 0o775)
    await chmod(program, 0o700)
    expect((await runCommand(['autocomplete'], { env: env('bash') })).code).to.equal(0)
  })

  it('writes no script without a home folder', async () => {
    const bare = cleanEnv({ HOME: '', TMPDIR: home, XDG_CACHE_HOME: undefined })
    const { code, stderr } = await runCommand(['autocomplete', 'bash'], { env: bare })
    expect(code).to.equal(2)
    const hint = 'hint: set HOME to an absolute path\n'
    expect(stderr).to.equal(`error: there is no home folder for the script\n${hint}`)
    expect(await readdir(home)).to.deep.equal([])
  })
})
