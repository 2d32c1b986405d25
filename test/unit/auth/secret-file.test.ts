import { expect } from 'chai'
import { chmod, chown, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readSecretFile } from '../../../src/lib/auth/secret-file.ts'
import { ServiceError } from '../../../src/lib/util/errors.ts'
import { skipBecause } from '../../helpers/skip.ts'

const posix = process.getuid !== undefined

describe('readSecretFile', () => {
  let folder = ''
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'service-cli-test-'))
  })
  after(() => rm(folder, { recursive: true }))

  const accepted: [name: string, text: string, secret: string][] = [
    ['without newline', 'abc', 'abc'],
    ['with a Windows newline', 'abc\r\n', 'abc'],
  ]
  for (const [name, text, secret] of accepted) {
    it(`reads a key ${name}`, async () => {
      expect(await readSecretFile(await fileWith(text, 0o600), '--f')).to.equal(secret)
    })
  }

  const refused: [name: string, text: string, mode: number, message: string][] = [
    ['empty', '', 0o600, 'is empty'],
    ['with a space', 'a bc', 0o600, 'cannot carry'],
    ['too large', 'a'.repeat(5000), 0o600, 'larger than'],
    ['holding a null', 'abc\u0000', 0o600, 'cannot carry'],
    ['writable by the group', 'abc', 0o620, 'other users'],
    ['writable by everyone', 'abc', 0o602, 'other users'],
  ]
  for (const [name, text, mode, message] of refused) {
    it(`refuses a file that is ${name}, without showing it`, async function () {
      if (!posix && mode !== 0o600) skipBecause(this, 'modes need a POSIX system')
      const error = await failure(await fileWith(text, mode))
      expect(error.code).to.equal('config_invalid')
      expect(error.message).to.contain(message).and.contain('--f')
      if (text.length > 1) expect(error.message).not.to.contain(text)
    })
  }

  it('refuses a missing file and a folder', async () => {
    expect((await failure(join(folder, 'none'))).message).to.contain('no such file')
    const { message, hint } = await failure(folder)
    expect(message).to.contain('is not a regular file')
    expect(hint).to.not.contain('chmod')
  })

  it("refuses another user's file", async function () {
    if (process.getuid?.() !== 0) skipBecause(this, 'only root can give a file to somebody else')
    const file = await fileWith('abc', 0o600)
    await chown(file, 65534, 65534)
    expect((await failure(file)).message).to.contain('another user')
  })

  async function fileWith(text: string, mode: number, name = 'key'): Promise<string> {
    const path = join(folder, name)
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
