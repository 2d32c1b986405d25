import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { execFileSync } from 'node:child_process'
import { expect } from 'chai'
import { commandNames } from '../../../src/commands/index.ts'
import { asTyped, commandFor, firstWords, quoteArgument } from '../../../src/lib/cli/own-command.ts'

describe('commandFor', () => {
  let folder: string
  let program: string
  const command = (cwd: string, path: string) =>
    commandFor({ program, cwd, path, platform: 'linux' })

  before(async () => {
    folder = await realpath(await mkdtemp(join(tmpdir(), 'own command-')))
    program = join(folder, 'checkout/bin/run.js')
    const scripts = join(folder, 'checkout/node_modules/.bin')
    for (const made of [join(program, '..'), scripts, join(folder, 'usr'), join(folder, 'other')]) {
      await mkdir(made, { recursive: true })
    }
    await writeFile(program, '')
    await symlink(program, join(folder, 'usr/service-cli'))
    await symlink(program, join(scripts, 'service-cli'))
    await writeFile(join(folder, 'other/service-cli'), '')
  })
  after(() => rm(folder, { recursive: true }))

  it('is service-cli where PATH leads to this program, else node and the file', () => {
    const found = ['/nowhere', join(folder, 'usr')].join(delimiter)
    expect(command(folder, found)).to.equal('service-cli')
    const checkout = join(folder, 'checkout')
    for (const other of ['', join(folder, 'other'), join(checkout, 'node_modules/.bin')]) {
      expect(command(checkout, other)).to.equal('node bin/run.js')
    }
    expect(command(join(folder, 'usr'), '')).to.equal(`node '${program}'`)
  })
})

describe('asTyped', () => {
  it('leaves the name of the program, and knows the first word of every command', () => {
    const hint = 'install service-cli anew, or log in with service-cli login alice'
    const shown = 'install service-cli anew, or log in with node x login alice'
    expect(asTyped(hint, 'node x')).to.equal(shown)
    const words = new Set(commandNames.map(name => name.split(':')[0]))
    expect(firstWords).to.have.members([...words])
  })
})

describe('quoteArgument', () => {
  it('gives the shell back the very words', () => {
    const words = ['/tmp/a-1.zip', 'a b', "it's", '$(id)', '`x`', '"', 'a\\b', 'é;&|*?', '-- x', '']
    const quoted = words.map(word => quoteArgument(word, 'linux')).join(' ')
    const printed = execFileSync('sh', ['-c', `printf '%s\\n' ${quoted}`], { encoding: 'utf8' })
    expect(printed).to.equal(words.map(word => `${word}\n`).join(''))
  })

  it('uses double quotes on Windows, and none where none are needed', () => {
    expect(quoteArgument('/tmp/a-1.zip', 'linux')).to.equal('/tmp/a-1.zip')
    const path = String.raw`C:\Users\a.zip`
    expect(quoteArgument(path, 'win32')).to.equal(path)
    const spaced = String.raw`C:\My Files\a.zip`
    expect(quoteArgument(spaced, 'win32')).to.equal(`"${spaced}"`)
  })
})
