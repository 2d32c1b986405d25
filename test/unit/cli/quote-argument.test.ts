import { expect } from 'chai'
import { execFileSync } from 'node:child_process'
import { quoteArgument } from '../../../src/lib/cli/own-command.ts'

describe('quoteArgument', () => {
  const cases: [word: string, platform: NodeJS.Platform, quoted: string][] = [
    ['/tmp/a-1.zip', 'linux', '/tmp/a-1.zip'],
    ['/tmp/a b.zip', 'linux', "'/tmp/a b.zip'"],
    ["it's", 'darwin', String.raw`'it'\''s'`],
    ['$HOME`x`', 'linux', "'$HOME`x`'"],
    ['', 'linux', "''"],
    [String.raw`C:\Users\a.zip`, 'win32', String.raw`C:\Users\a.zip`],
    [String.raw`C:\My Files\a.zip`, 'win32', String.raw`"C:\My Files\a.zip"`],
  ]
  for (const [word, platform, quoted] of cases) {
    it(`writes ${word} as ${quoted} on ${platform}`, () => {
      expect(quoteArgument(word, platform)).to.equal(quoted)
    })
  }

  it('gives the shell back the very word', function () {
    for (const word of ['a b', "it's", '$(id)', '"', 'a\\b', 'é;&|*?', '-- x']) {
      const command = `printf %s ${quoteArgument(word, 'linux')}`
      expect(execFileSync('sh', ['-c', command], { encoding: 'utf8' })).to.equal(word)
    }
  })
})
