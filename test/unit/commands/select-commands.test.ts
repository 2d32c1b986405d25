import { expect } from 'chai'
import { commandNames, selectCommands } from '../../../src/commands/index.ts'

describe('selectCommands', () => {
  for (const [words, names] of [
    ['whoami', ['whoami']],
    ['whoami --json', ['whoami']],
    ['login ada --no-input', ['login']],
    ['login token', ['login']],
    ['token create ci', ['token:create']],
    ['token', ['token:create', 'token:list', 'token:print', 'token:revoke']],
    ['token --help', ['token:create', 'token:list', 'token:print', 'token:revoke']],
    ['token nothing', ['token:create', 'token:list', 'token:print', 'token:revoke']],
  ] as const) {
    it(`of "${words}" are ${names.join(', ')}`, () => {
      expect(selectCommands(words.split(' '))).to.deep.equal(names)
    })
  }

  it('of a command with commands below it are these, too', () => {
    const selected = selectCommands(['registry', '--help'])
    expect(selected).to.deep.equal(commandNames.filter(name => name.startsWith('registry')))
    expect(selected).to.include.members(['registry', 'registry:users:list'])
  })

  for (const words of ['', '--help', 'whoam', 'who ami', 'autocomplete', 'help whoami', 'toke']) {
    it(`of "${words}" are none`, () => {
      expect(selectCommands(words.split(' ').filter(word => word !== ''))).to.equal(null)
    })
  }
})
