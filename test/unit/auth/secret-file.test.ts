import { expect } from 'chai'
import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readSecretFile } from '../../../src/lib/auth/secret-file.ts'
import { failureOf } from '../../helpers/failure.ts'
import { newFolder } from '../../helpers/cleanup.ts'
import { skipBecause } from '../../helpers/skip.ts'

describe('readSecretFile', () => {
  for (const text of ['abc', ' abc\r\n', '\ufeffabc', 'Bearer abc']) {
    it(`reads ${JSON.stringify(text)} as people copy it`, async () => {
      const folder = newFolder()
      const path = join(folder, 'key')
      await writeFile(path, text, { mode: 0o600 })
      expect(await readSecretFile(path, '--f')).to.equal('abc')
    })
  }

  const refused: [text: string, mode: number, message: string][] = [
    ['\ufeff \n', 0o600, 'is empty'],
    ['a bc', 0o600, 'has spaces or characters'],
    ['ab\u0000c', 0o600, 'has spaces or characters'],
    ['\u001b[31mabc', 0o600, 'has spaces or characters'],
    ['a'.repeat(5000), 0o600, 'is larger than'],
    ['abc', 0o646, 'is open to other users'],
  ]
  for (const [text, mode, message] of refused) {
    it(`refuses ${JSON.stringify(text).slice(0, 20)} with mode ${mode.toString(8)}`, async function () {
      if (process.getuid === undefined && mode !== 0o600) skipBecause(this, 'needs POSIX modes')
      const folder = newFolder()
      const path = join(folder, 'key')
      await writeFile(path, text)
      await chmod(path, mode)
      const failure = await failureOf(() => readSecretFile(path, '--f'))
      expect(failure.code).to.equal('config_invalid')
      expect(failure.message).to.contain(`--f ${path} ${message}`).and.not.contain(text)
    })
  }

  it('refuses a missing file', async () => {
    const failure = await failureOf(() => readSecretFile('/none', '--f'))
    expect(failure.message).to.equal('--f /none cannot be read: no such file')
  })
})
