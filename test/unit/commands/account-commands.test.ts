import { expect } from 'chai'
import { commandNames, loadCommands } from '../../../src/commands/index.ts'
import { AccountCommand } from '../../../src/lib/cli/base-command.ts'

const commands = Object.entries(await loadCommands(commandNames)).sort(([one], [other]) =>
  one < other ? -1 : 1,
)
const ofAccounts = commands.filter(([, command]) =>
  AccountCommand.prototype.isPrototypeOf(command.prototype),
)

describe('commands of a person with an account', () => {
  it('are these', () => {
    expect(ofAccounts.map(([name]) => name)).to.deep.equal([
      'login',
      'logout',
      'password',
      'publish',
      'register',
      'token:create',
      'token:list',
      'token:print',
      'token:revoke',
      'whoami',
    ])
  })

  it('take a token, all but those that make or end a login', () => {
    const withToken = ofAccounts.filter(([, command]) => 'token' in (command.baseFlags ?? {}))
    const others = ofAccounts.filter(one => !withToken.includes(one)).map(([name]) => name)
    expect(others).to.deep.equal(['login', 'logout', 'register'])
  })

  for (const [name, command] of ofAccounts) {
    it(`${name} takes --registry, --json and --quiet`, () => {
      expect(command.baseFlags).to.include.all.keys('registry', 'json', 'quiet')
    })

    it(`${name} shows examples, none with a secret on the command line`, () => {
      const examples = command.examples as { command: string }[]
      expect(examples).to.not.be.empty
      for (const { command } of examples) {
        expect(command).not.to.match(/--password[ =](?!-)|--token[ =]|--code[ =](?!-)/)
      }
    })
  }
})

describe('commands', () => {
  // The parser would else read a word that is missing from stdin: a secret, or the rest of a list
  // that a script goes through.
  for (const [name, command] of commands) {
    it(`${name} takes no word from stdin`, () => {
      for (const arg of Object.values(command.args)) expect(arg.ignoreStdin).to.equal(true)
    })
  }
})
