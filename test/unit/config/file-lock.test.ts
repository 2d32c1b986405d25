import { expect } from 'chai'
import { mkdir, mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { takeFileLock, withFileLock } from '../../../src/lib/config/file-lock.ts'

describe('takeFileLock', () => {
  let folder: string
  let path: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'file-lock-'))
    path = join(folder, 'a.lock')
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))

  const take = async () => {
    const lock = await takeFileLock(path, { waitMs: 0 })
    return lock.ok ? lock.value : null
  }

  it('creates a private file', async () => {
    const release = await take()
    expect((await stat(path)).mode & 0o777).to.equal(0o600)
    release?.()
  })

  it('has one holder', async () => {
    const release = await take()
    expect(await take()).to.equal(null)
    release?.()
    release?.()
    const next = await take()
    expect(next).not.to.equal(null)
    next?.()
  })

  it('is released when the action fails', async () => {
    const failed = await withFileLock(path, { waitMs: 0 }, () =>
      Promise.reject(new RangeError('no')),
    ).catch((error: Error) => error.message)
    expect(failed).to.equal('no')
    expect(await withFileLock(path, { waitMs: 0 }, async () => 7)).to.deep.equal({
      ok: true,
      value: 7,
    })
  })

  it('rejects a folder in its place', async () => {
    await mkdir(path)
    const error = await takeFileLock(path, { waitMs: 0 }).catch(error => error)
    expect(error).to.include({ code: 'config_invalid' })
  })
})
