import { expect } from 'chai'
import stringWidth from 'fast-string-width'
import { CommandHelp } from '@oclif/core'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { AccountCommand } from '../../src/lib/cli/base-command.ts'
import { commandConfig, runCommand } from '../helpers/in-process.ts'
import { root } from '../helpers/program.ts'

describe('help', () => {
  it('names every command, by "help", by "--help", by "-h" and without any word', async () => {
    const { code, stdout } = await runCommand(['--help'])
    expect(code).to.equal(0)
    for (const name of (await commandConfig()).commandIDs) {
      expect(stdout).to.match(new RegExp(`^  ${name.split(':')[0]} `, 'm'))
    }
    for (const words of [['help'], ['-h'], []]) {
      expect(await runCommand(words)).to.deep.equal({ code: 0, stdout, stderr: '' })
    }
  })

  it('of a command is shown by "help COMMAND", with examples and flags', async () => {
    const wanted = await runCommand(['serve', '--help'])
    expect(await runCommand(['help', 'serve'])).to.deep.equal(wanted)
    expect(wanted).to.include({ code: 0, stderr: '' })
    expect(wanted.stdout).to.contain('EXAMPLES').and.contain('service-cli serve --port 0 --json')
    for (const flag of ['--port', '--host', '--public-url', '--no-artefacts', '--limit']) {
      expect(wanted.stdout).to.contain(flag)
    }
    expect((await runCommand(['help', 'nosuch'])).code).to.equal(2)
  })

  it('lists in the manifest of the build what the sources have', async () => {
    const manifest = JSON.parse(readFileSync(join(root, 'oclif.manifest.json'), 'utf8'))
    const ofPlugins = /^(?:autocomplete|help)/
    const ids = (await commandConfig()).commandIDs.filter(id => !ofPlugins.test(id))
    expect(Object.keys(manifest.commands)).to.have.members(ids)
  })
})

describe('every command', () => {
  it('fits its help into 80 columns, and takes no word from stdin', async () => {
    const config = await commandConfig()
    for (const command of config.commands.filter(
      ({ pluginName }) => pluginName === 'service-cli',
    )) {
      const { id, summary = '' } = command
      expect(summary.length, id).to.be.within(1, 66)
      const help = new CommandHelp(command, config, { maxWidth: 80 }).generate()
      for (const line of help.split('\n')) {
        expect(stringWidth(line), `${id}: ${line}`).to.be.at.most(80)
      }
      // oclif would read a missing argument from stdin: a secret, or the list that a script reads.
      for (const arg of Object.values((await command.load()).args)) {
        expect(arg.ignoreStdin, id).to.equal(true)
      }
    }
  })

  it('of an account takes --registry, and shows no example with a secret', async () => {
    const withoutToken: string[] = []
    const secret = /--password[ =](?!-)|--token[ =]|--code[ =](?!-)/
    for (const { id, load } of (await commandConfig()).commands) {
      const command = await load()
      if (!AccountCommand.prototype.isPrototypeOf(command.prototype)) continue
      expect(command.baseFlags, id).to.include.all.keys('registry', 'json', 'quiet')
      if (!('token' in (command.baseFlags ?? {}))) withoutToken.push(id)
      expect(command.examples, id).to.not.be.empty
      for (const example of command.examples) expect(example).not.to.match(secret)
    }
    expect(withoutToken).to.have.members(['login', 'logout', 'register'])
  })
})
