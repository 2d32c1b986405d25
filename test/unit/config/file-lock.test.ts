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

  const take = async (shared: boolean) => {
    const lock = await takeFileLock(path, { waitMs: 0, shared })
    return lock.ok ? lock.value : null
  }

  it('creates a private file', async () => {
    const release = await take(false)
    expect((await stat(path)).mode & 0o777).to.equal(0o600)
    release?.()
  })

  it('lets holders share it, and keeps out one that is not shared', async () => {
    const [one, two] = [await take(true), await take(true)]
    expect(await take(false)).to.equal(null)
    one?.()
    expect(await take(false)).to.equal(null)
    two?.()
    two?.()
    const alone = await take(false)
    expect(alone).not.to.equal(null)
    expect(await take(true)).to.equal(null)
    alone?.()
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
