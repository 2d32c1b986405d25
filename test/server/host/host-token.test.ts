import {
  chmod,
  chown,
  mkdir,
  mkdtemp,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { resolveHostToken } from '../../../src/server/host/host-token.ts'
import { skipBecause } from '../../helpers/skip.ts'

const posix = process.getuid !== undefined

describe('resolveHostToken', () => {
  let base: string
  beforeEach(async () => (base = await mkdtemp(join(tmpdir(), 'host-token-'))))
  afterEach(() => rm(base, { recursive: true, force: true }))

  const resolve = (given: { file?: string; env?: string }) =>
    resolveHostToken({ ...given, instancesDir: base, instanceId: 'id' })

  async function fileWith(content: string, mode = 0o600, name = 'token'): Promise<string> {
    const path = join(base, name)
    await writeFile(path, content)
    await chmod(path, mode)
    return path
  }

  async function refusal(file: string): Promise<string> {
    const error = await resolve({ file }).then(
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
    const error = await resolve({}).then(
      () => undefined,
      error => error,
    )
    expect(error).to.have.property('code', 'storage_failed')
    expect(await readFile(join(base, 'victim'), 'utf8')).to.equal('kept')
  })

  for (const [content, token] of [
    ['abc', 'abc'],
    ['abc\n', 'abc'],
    ['abc\r\n', 'abc'],
  ] as const) {
    it(`reads ${JSON.stringify(content)} as ${token}`, async () => {
      const { secret } = await resolve({ file: await fileWith(content) })
      expect(secret.reveal()).to.equal(token)
    })
  }

  for (const content of [
    '',
    '\n',
    'private-text\n\n',
    'private text',
    ' private-text',
    'private-text\u0000',
    'ä',
  ]) {
    it(`refuses the content ${JSON.stringify(content)}`, async () => {
      await refusal(await fileWith(content))
    })
  }

  for (const mode of [0o640, 0o604, 0o644, 0o620, 0o610]) {
    it(`refuses a file of mode ${mode.toString(8)}`, async function () {
      if (!posix) skipBecause(this, 'owners, modes and links need a POSIX system')
      expect(await refusal(await fileWith('private-text', mode))).to.contain('other users')
    })
  }

  it('refuses what is not a file, too large, or not there', async () => {
    expect(await refusal(base)).to.contain('not a regular file')
    expect(await refusal(join(base, 'missing'))).to.contain('ENOENT')
    expect(await refusal(await fileWith('x'.repeat(5000)))).to.contain('too large')
  })

  it("refuses another user's file", async function () {
    if (process.getuid?.() !== 0) skipBecause(this, 'only root can give a file to somebody else')
    const file = await fileWith('private-text')
    await chown(file, 65534, 65534)
    expect(await refusal(file)).to.contain('another user')
  })

  it('follows a symlink to a private file in a private folder', async () => {
    const file = await fileWith('abc')
    await symlink(file, join(base, 'link'))
    expect((await resolve({ file: join(base, 'link') })).secret.reveal()).to.equal('abc')
  })

  it('refuses a symlink to a wider file, or into a folder that others can write', async function () {
    if (!posix) skipBecause(this, 'owners, modes and links need a POSIX system')
    await symlink(await fileWith('private-text', 0o644), join(base, 'link'))
    expect(await refusal(join(base, 'link'))).to.contain('other users')
    const shared = join(base, 'shared')
    await mkdir(shared)
    await chmod(shared, 0o777)
    await symlink(await fileWith('private-text', 0o600, 'shared/token'), join(base, 'second'))
    expect(await refusal(join(base, 'second'))).to.contain('others can replace')
  })
})
