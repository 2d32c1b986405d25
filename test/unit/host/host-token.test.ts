import { chmod, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { resolveHostToken } from '../../../src/server/host/host-token.ts'
import { newFolder } from '../../helpers/cleanup.ts'
import { skipBecause } from '../../helpers/skip.ts'

const posix = process.getuid !== undefined

describe('resolveHostToken', () => {
  let base: string
  beforeEach(() => (base = newFolder()))

  const resolve = (given: { file?: string; env?: string }) =>
    resolveHostToken({ ...given, instancesDir: base, instanceId: 'id' })

  async function fileWith(content: string, mode = 0o600): Promise<string> {
    const path = join(base, 'token')
    await writeFile(path, content)
    await chmod(path, mode)
    return path
  }

  async function refusal(given: { file?: string; env?: string }): Promise<string> {
    const error = await resolve(given).then(
      () => undefined,
      error => error,
    )
    expect(error).to.have.property('code', 'config_invalid')
    expect(error.message).not.to.contain('private-text')
    return error.message
  }

  it('prefers the file to the environment, and the environment to a new one', async () => {
    const file = await fileWith('from-file')
    const first = await resolve({ file, env: 'from-env' })
    expect([first.secret.reveal(), first.file]).to.deep.equal(['from-file', file])
    const second = await resolve({ env: 'from-env' })
    expect([second.secret.reveal(), second.file]).to.deep.equal(['from-env', null])
  })

  it('makes 256 random bits, readable by this user alone', async () => {
    const { secret, file } = await resolve({ env: '' })
    expect(file).to.equal(join(base, 'id.token'))
    expect(secret.reveal()).to.match(/^[\w-]{43}$/)
    expect(await readFile(file ?? '', 'utf8')).to.equal(secret.reveal())
    if (posix) expect((await stat(file ?? '')).mode & 0o777).to.equal(0o600)
    const other = await resolveHostToken({ instancesDir: base, instanceId: 'other' })
    expect(other.secret.equals(secret.reveal())).to.equal(false)
  })

  it('never writes through something that is already there', async () => {
    await writeFile(join(base, 'victim'), 'kept')
    await symlink(join(base, 'victim'), join(base, 'id.token'))
    const { secret } = await resolve({})
    expect(await readFile(join(base, 'id.token'), 'utf8')).to.equal(secret.reveal())
    expect(await readFile(join(base, 'victim'), 'utf8')).to.equal('kept')
  })

  it('reads a file without its newline, and refuses one that others can read', async function () {
    const { secret } = await resolve({ file: await fileWith('abc\n') })
    expect(secret.reveal()).to.equal('abc')
    if (!posix) skipBecause(this, 'modes need a POSIX system')
    const message = await refusal({ file: await fileWith('private-text', 0o644) })
    expect(message).to.contain('--host-token-file').and.contain('other users')
  })
})
