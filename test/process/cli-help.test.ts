import { Config, CommandHelp } from '@oclif/core'
import { expect } from 'chai'
import { chmod, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import stringWidth from 'fast-string-width'
import { commandNames, loadCommands } from '../../src/commands/index.ts'
import { pjson, runCommand } from '../helpers/in-process.ts'
import { cleanEnv, root, runProgram } from '../helpers/program.ts'
import { skipBecause } from '../helpers/skip.ts'

describe('help', () => {
  it('begins with serve, ends with accounts, and names every command', async () => {
    const { code, stdout } = await runProgram(['--help'])
    expect(code).to.equal(0)
    const named = [...stdout.matchAll(/^ {2}([a-z-]+) {2,}\S/gm)].map(found => found[1])
    const known = new Set(commandNames.map(name => name.split(':')[0]))
    expect(named).to.have.members([...known, 'help', 'autocomplete'])
    expect(named[0]).to.equal('serve')
    const afterTitle = stdout.slice(stdout.indexOf('\nACCOUNTS\n'), stdout.indexOf('\nMORE\n'))
    expect([...afterTitle.matchAll(/^ {2}([a-z-]+) /gm)].map(found => found[1])).to.deep.equal([
      'register',
      'login',
      'logout',
      'whoami',
      'password',
      'token',
      'publish',
      'registry',
    ])
    for (const line of stdout.split('\n')) expect(stringWidth(line), line).to.be.at.most(80)
  })

  it('is the same by "help", by "-h", by "help help" and without any word', async () => {
    const { stdout } = await runCommand(['--help'])
    for (const words of [['help'], ['-h'], [], ['help', 'help'], ['help', '--help']]) {
      expect(await runCommand(words)).to.deep.equal({ code: 0, stdout, stderr: '' })
    }
  })

  it('of a command is shown by "help COMMAND"', async () => {
    const wanted = await runProgram(['keys', 'create', '--help'])
    expect(await runProgram(['help', 'keys', 'create'])).to.deep.equal(wanted)
    expect(wanted.stdout).to.contain('--expires-in')
    expect((await runCommand(['help', 'nosuch'])).code).to.equal(2)
  })

  it('of a command has summaries that fit beside its name', async () => {
    const loaded = await loadCommands(commandNames)
    for (const [name, { summary = '' }] of Object.entries(loaded)) {
      expect(summary.length, name).to.be.within(1, 66)
    }
  })

  it('of a command breaks lines only where the terminal does', async () => {
    for (const [name, { description = '' }] of Object.entries(await loadCommands(commandNames))) {
      expect(description, name).not.to.match(/[^\n]\n[^\n]/)
    }
  })

  it('of a command fits into 80 columns, with every word whole', async () => {
    await loadCommands(commandNames)
    const config = await Config.load({ root, pjson })
    for (const name of commandNames) {
      const command = config.findCommand(name, { must: true })
      const shown = (maxWidth: number) => new CommandHelp(command, config, { maxWidth }).generate()
      for (const line of shown(80).split('\n')) {
        expect(stringWidth(line), `${name}: ${line}`).to.be.at.most(80)
      }
      const words = (text: string) => text.replaceAll(' \\\n', ' ').split(/\s+/)
      expect(words(shown(80)), name).to.deep.equal(words(shown(1000)))
    }
  })

  it('tells how to switch on completion', async () => {
    const home = await mkdtemp(join(tmpdir(), 'completion-'))
    const env = cleanEnv({ HOME: home, XDG_CACHE_HOME: home, SHELL: '/bin/zsh' })
    const { code, stdout } = await runCommand(['autocomplete'], { env })
    expect(code).to.equal(0)
    expect(stdout).to.contain('printf "$(service-cli autocomplete script zsh)" >> ~/.zshrc')
    expect(stdout).not.to.contain('CLI')
    await rm(home, { recursive: true })
  })

  it('writes no script for completion where another user could replace it', async function () {
    if (process.getuid === undefined) skipBecause(this, 'owners and modes are of POSIX systems')
    const home = await mkdtemp(join(tmpdir(), 'completion-'))
    const env = cleanEnv({ HOME: home, XDG_CACHE_HOME: home, SHELL: '/bin/bash' })
    const scripts = join(home, 'service-cli/autocomplete')
    await mkdir(scripts, { recursive: true, mode: 0o700 })
    await chmod(join(scripts, '..'), 0o755)
    for (const folder of [scripts, join(scripts, '..'), home]) {
      await chmod(folder, 0o777)
      for (const words of [[], ['bash', '--refresh-cache'], ['script', 'bash']]) {
        const { code, stderr } = await runCommand(['autocomplete', ...words], { env })
        expect(code, folder).to.equal(2)
        expect(stderr).to.contain(`${folder}: others can change it`)
      }
      await chmod(folder, 0o755)
    }
    expect(await readdir(scripts)).to.deep.equal([])
    await chmod(scripts, 0o775)
    await chmod(join(scripts, '..'), 0o700)
    expect((await runCommand(['autocomplete'], { env })).code).to.equal(0)
    await rm(home, { recursive: true })
  })
})
