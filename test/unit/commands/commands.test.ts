import { expect } from 'chai'
import { commandNames, loadCommands, selectCommands } from '../../../src/commands/index.ts'
import { AccountCommand } from '../../../src/lib/cli/base-command.ts'

const commands = Object.entries(await loadCommands(commandNames)).sort(([one], [other]) =>
  one < other ? -1 : 1,
)
const ofAccounts = commands.filter(([, command]) =>
  AccountCommand.prototype.isPrototypeOf(command.prototype),
)

describe('commands of a user with an account', () => {
  const withoutToken = ['login', 'logout', 'register']
  const others = [
    'password',
    'publish',
    'token:create',
    'token:list',
    'token:print',
    'token:revoke',
  ]

  it('take a token, all but those that make or end a login', () => {
    const names = ofAccounts.map(([name]) => name)
    expect(names).to.have.members([...withoutToken, ...others, 'whoami'])
    const without = ofAccounts.filter(([, command]) => !('token' in (command.baseFlags ?? {})))
    expect(without.map(([name]) => name)).to.deep.equal(withoutToken)
  })

  it('take --registry, and show examples, none with a secret on the command line', () => {
    const secret = /--password[ =](?!-)|--token[ =]|--code[ =](?!-)/
    for (const [name, command] of ofAccounts) {
      expect(command.baseFlags, name).to.include.all.keys('registry', 'json', 'quiet')
      const examples = command.examples as { command: string }[]
      expect(examples, name).to.not.be.empty
      for (const example of examples) expect(example.command).not.to.match(secret)
    }
  })
})

describe('commands', () => {
  // The parser would else read a word that is missing from stdin: a secret, or the rest of a list
  // that a script goes through.
  it('take no word from stdin', () => {
    for (const [name, command] of commands) {
      for (const arg of Object.values(command.args)) expect(arg.ignoreStdin, name).to.equal(true)
    }
  })
})

describe('selectCommands', () => {
  const ofTokens = ['token:create', 'token:list', 'token:print', 'token:revoke']
  const cases: [words: string, names: string[] | null][] = [
    ['whoami --json', ['whoami']],
    ['login token', ['login']],
    ['token create ci', ['token:create']],
    ['token --help', ofTokens],
    ['token nothing', ofTokens],
    ['registry --help', commandNames.filter(name => name.startsWith('registry'))],
    ['', null],
    ['--help', null],
    ['whoam', null],
    ['help whoami', null],
    ['autocomplete', null],
  ]
  for (const [words, names] of cases) {
    it(`of "${words}" are ${names?.join(', ') ?? 'all'}`, () => {
      const given = words.split(' ').filter(word => word !== '')
      expect(selectCommands(given)).to.deep.equal(names)
    })
  }
})
