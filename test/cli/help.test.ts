import { CommandHelp, Config } from '@oclif/core'
import { expect } from 'chai'
import stringWidth from 'fast-string-width'
import { commandNames, loadCommands } from '../../src/commands/index.ts'
import { pjson, runCommand } from '../helpers/in-process.ts'
import { root } from '../helpers/program.ts'

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
