import { expect } from 'chai'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { readChosenToken, selectTokenSource } from '../../../src/lib/accounts/token-source.ts'
import { skipBecause } from '../../helpers/skip.ts'
import { failureOf } from '../../helpers/failure.ts'
import { withFolder } from '../../helpers/folder.ts'

const configPath = '/home/a/.config/service-cli/config.toml'

describe('selectTokenSource', () => {
  type Given = [
    option: string | undefined,
    variable: string | undefined,
    tokenFile: string | undefined,
    inConfig: boolean,
  ]
  const cases: [given: Given, name: string | undefined][] = [
    [['o', 'v', '/f', true], '--token'],
    [['', 'v', '/f', true], 'SERVICE_TOKEN'],
    [[' ', '', '/f', true], 'SERVICE_TOKEN_FILE /f'],
    [[undefined, '\n', '', true], configPath],
    [[undefined, undefined, undefined, false], undefined],
  ]
  for (const [given, name] of cases) {
    it(`is ${name} for ${JSON.stringify(given)}`, () => {
      const [option, variable, tokenFile, inConfig] = given
      const choice = selectTokenSource({ option, variable, tokenFile, inConfig, configPath })
      expect(choice?.name).to.equal(name)
    })
  }
})

describe('readChosenToken', () => {
  const places = {
    option: undefined,
    variable: undefined,
    tokenFile: undefined,
    inConfig: true,
    configPath,
  }
  const read = (given: Partial<Record<'option' | 'variable' | 'tokenFile', string>>) => {
    const all = { ...places, ...given }
    const choice = selectTokenSource(all)
    if (choice === null) throw new Error('no choice')
    return readChosenToken(choice, all)
  }

  it('takes option and variable as they are, without a final line end', async () => {
    expect((await read({ option: 'svc_1' }))?.reveal()).to.equal('svc_1')
    expect((await read({ variable: 'svc_2\n' }))?.reveal()).to.equal('svc_2')
  })

  it('refuses a token file that others can change, and one of the user that others can read', () =>
    withFolder(async folder => {
      const path = join(folder, 'token')
      writeFileSync(path, 'svc_3\n')
      // Files of root count as mounted by the platform.
      chmodSync(path, process.getuid?.() === 0 ? 0o646 : 0o644)
      const failure = await failureOf(() => read({ tokenFile: path }))
      expect(failure.message).to.include(`SERVICE_TOKEN_FILE ${path} is open to other users`)
    }))

  it('reads a file of root that others can read, as container platforms mount it', function () {
    if (process.getuid?.() !== 0) skipBecause(this, 'only root can make files of root')
    return withFolder(async folder => {
      const path = join(folder, 'token')
      writeFileSync(path, 'svc_3\n')
      chmodSync(path, 0o444)
      expect((await read({ tokenFile: path }))?.reveal()).to.equal('svc_3')
    })
  })

  it('reads a pipe, named or not', function () {
    if (process.platform === 'win32') skipBecause(this, 'there are no named pipes')
    return withFolder(async folder => {
      const path = join(folder, 'pipe')
      execFileSync('mkfifo', ['-m', '600', path])
      const ended = once(spawn('sh', ['-c', `printf 'svc_4\\n' > '${path}'`]), 'exit')
      expect((await read({ tokenFile: path }))?.reveal()).to.equal('svc_4')
      await ended
    })
  })

  for (const text of ['svc_ab cd', 'svc_\u00e4', '\u001b[31msvc_']) {
    it(`names the source and not the text of ${JSON.stringify(text)}`, async () => {
      const failure = await failureOf(() => read({ variable: text }))
      expect(failure.code).to.equal('config_invalid')
      expect(failure.message).to.include('SERVICE_TOKEN')
      expect(inspect(failure)).to.not.include('svc_')
    })
  }
})
