import { expect } from 'chai'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readSecretFile } from '../../../src/lib/cli/secret-file.ts'
import { ServiceError } from '../../../src/lib/errors.ts'

describe('readSecretFile', () => {
  let folder = ''
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'service-cli-test-'))
  })
  after(() => rm(folder, { recursive: true }))

  const accepted: [name: string, text: string, secret: string][] = [
    ['without newline', 'abc', 'abc'],
    ['with one newline', 'abc\n', 'abc'],
    ['with a Windows newline', 'abc\r\n', 'abc'],
  ]
  for (const [name, text, secret] of accepted) {
    it(`reads a key ${name}`, async () => {
      expect(await readSecretFile(await fileWith(text, 0o600), '--f')).to.equal(secret)
    })
  }

  const refused: [name: string, text: string, mode: number, message: string][] = [
    ['empty', '', 0o600, 'is empty'],
    ['only a newline', '\n', 0o600, 'is empty'],
    ['with two newlines', 'abc\n\n', 0o600, 'cannot carry'],
    ['with a space', 'a bc', 0o600, 'cannot carry'],
    ['beyond ASCII', 'schlüssel', 0o600, 'cannot carry'],
    ['too large', 'a'.repeat(5000), 0o600, 'larger than'],
    ['readable by the group', 'abc', 0o640, 'other accounts'],
    ['readable by everyone', 'abc', 0o604, 'other accounts'],
    ['writable by everyone', 'abc', 0o602, 'other accounts'],
  ]
  for (const [name, text, mode, message] of refused) {
    it(`refuses a file that is ${name}, without showing it`, async () => {
      const error = await failure(await fileWith(text, mode))
      expect(error.code).to.equal('config_invalid')
      expect(error.message).to.contain(message).and.contain('--f')
      if (text.length > 1) expect(error.message).not.to.contain(text)
    })
  }

  it('refuses a missing file and a folder', async () => {
    expect((await failure(join(folder, 'none'))).message).to.contain('ENOENT')
    expect((await failure(folder)).message).to.contain('is not a file')
  })

  async function fileWith(text: string, mode: number): Promise<string> {
    const path = join(folder, 'key')
    await rm(path, { force: true })
    await writeFile(path, text)
    await chmod(path, mode)
    return path
  }
})

async function failure(path: string): Promise<ServiceError> {
  const error: unknown = await readSecretFile(path, '--f').catch((thrown: unknown) => thrown)
  if (error instanceof ServiceError) return error
  throw new Error(`expected a failure, got ${String(error)}`)
}
