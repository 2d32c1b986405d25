import { expect } from 'chai'
import { execFileSync } from 'node:child_process'
import {
  chmod,
  chown,
  lstat,
  mkdir,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { join } from 'node:path'
import {
  ensurePrivateFolder,
  listPrivateFolder,
  readPrivateFile,
  withFileLock,
  writePrivateFile,
} from '../../../src/lib/config/private-file.ts'
import { newFolder } from '../../helpers/cleanup.ts'
import { failureOf } from '../../helpers/failure.ts'
import { skipBecause } from '../../helpers/skip.ts'

const isRoot = process.geteuid?.() === 0

describe('private-file.ts', () => {
  let base: string
  beforeEach(() => (base = newFolder()))

  describe('private files', () => {
    before(function () {
      if (process.geteuid === undefined) skipBecause(this, 'needs POSIX modes and links')
    })

    let folder: string
    let path: string
    beforeEach(() => {
      folder = join(base, 'home', 'service-cli')
      path = join(folder, 'file')
    })

    const modeOf = async (name: string) => (await stat(name)).mode & 0o777
    const fileWith = async (text: string, mode = 0o600) => {
      await writePrivateFile(path, text)
      await chmod(path, mode)
    }

    it('are 0600 in a folder of 0700 under any umask, and replaced as a whole', async () => {
      const before = process.umask(0)
      try {
        await writePrivateFile(path, 'one')
      } finally {
        process.umask(before)
      }
      expect([await modeOf(folder), await modeOf(path)]).to.deep.equal([0o700, 0o600])
      await writePrivateFile(path, Buffer.from('two'))
      expect(await readPrivateFile(path)).to.equal('two')
    })

    it('are null when they are missing', async () => {
      expect(await readPrivateFile(path)).to.equal(null)
      expect(await readPrivateFile('/dev/null/file')).to.equal(null)
    })

    it('are refused when others can read or change them, and stay as they are', async () => {
      for (const mode of [0o640, 0o604, 0o620]) {
        await fileWith('secret', mode)
        const { code, message, hint } = await failureOf(() => readPrivateFile(path))
        expect(code).to.equal('config_invalid')
        expect(message).to.equal(`${path} is open to other users (mode 0${mode.toString(8)})`)
        expect(hint).to.equal(`chmod 600 ${path}`)
        expect(await modeOf(path)).to.equal(mode)
      }
    })

    it('may be read by others when root has mounted them, never changed', async function () {
      if (!isRoot) skipBecause(this, 'needs a file of root')
      await fileWith('mounted', 0o444)
      expect(await readPrivateFile(path, { mounted: true })).to.equal('mounted')
      await fileWith('mounted', 0o664)
      const failure = await failureOf(() => readPrivateFile(path, { mounted: true }))
      expect(failure.message).to.contain('is open to')
    })

    it('are refused when they, or links to them, are of another user', async function () {
      if (!isRoot) skipBecause(this, 'needs root, to give a file away')
      await fileWith('secret')
      await symlink(path, `${path}-link`)
      expect(await readPrivateFile(`${path}-link`)).to.equal('secret')
      execFileSync('chown', ['-h', '4711', `${path}-link`])
      const linked = await failureOf(() => readPrivateFile(`${path}-link`))
      expect(linked.message).to.equal(`${path}-link is a symbolic link of another user`)
      await chown(path, 4711, 4711)
      const { message } = await failureOf(() => readPrivateFile(path))
      expect(message).to.equal(`${path} belongs to another user (uid 4711)`)
    })

    it('are written in the place of a link, never through it', async () => {
      await fileWith('one')
      await symlink(path, `${path}-link`)
      await writePrivateFile(`${path}-link`, 'two')
      expect((await lstat(`${path}-link`)).isFile()).to.equal(true)
      expect(await readFile(path, 'utf8')).to.equal('one')
    })

    it('are no folders, no pipes unless one is meant, and not too large', async () => {
      await mkdir(path, { recursive: true })
      expect((await failureOf(() => readPrivateFile(path))).message).to.contain(
        'not a regular file',
      )
      await rm(path, { recursive: true })
      execFileSync('mkfifo', ['-m', '600', path])
      expect((await failureOf(() => readPrivateFile(path))).message).to.contain(
        'not a regular file',
      )
      const reading = readPrivateFile(path, { mounted: true })
      await writeFile(path, 'from a pipe')
      expect(await reading).to.equal('from a pipe')
      await rm(path)
      await fileWith('12345')
      expect(await readPrivateFile(path, { maxBytes: 5 })).to.equal('12345')
      const { message } = await failureOf(() => readPrivateFile(path, { maxBytes: 4 }))
      expect(message).to.contain('is larger than 4 bytes')
    })

    it('say so where nothing can be written', async () => {
      const { code, message } = await failureOf(() => writePrivateFile('/dev/null/deep/file', 'x'))
      expect([code, message]).to.deep.equal([
        'storage_failed',
        '/dev/null/deep cannot be written (ENOTDIR)',
      ])
    })

    it('are listed only from a folder that no other user can change', async () => {
      expect(await listPrivateFolder(folder)).to.deep.equal([])
      await fileWith('one')
      expect(await listPrivateFolder(folder)).to.deep.equal(['file'])
      await chmod(folder, 0o770)
      expect((await failureOf(() => listPrivateFolder(folder))).message).to.contain('can change it')
    })

    it('lie in a folder in use only when it is closed to others', async () => {
      await mkdir(folder, { recursive: true })
      await chmod(folder, 0o777)
      await ensurePrivateFolder(folder)
      expect(await modeOf(folder)).to.equal(0o700)
      await fileWith('one')
      await chmod(folder, 0o755)
      const { code, hint } = await failureOf(() => writePrivateFile(path, 'two'))
      expect([code, hint]).to.deep.equal([
        'registry_dir_unsafe',
        `chmod 700 ${folder}, if it is yours alone`,
      ])
    })
  })

  describe('withFileLock', () => {
    let path: string
    beforeEach(() => void (path = join(base, 'a.lock')))

    it('lets one holder in after the other', async () => {
      let running = 0
      let most = 0
      const hold = () =>
        withFileLock(path, async () => {
          most = Math.max(most, ++running)
          await new Promise(setImmediate)
          running--
        })
      await Promise.all([hold(), hold(), hold()])
      expect(most).to.equal(1)
    })

    it('refuses what is no lock file', async () => {
      await writeFile(path, 'no lock file '.repeat(99))
      const { code } = await failureOf(() => withFileLock(path, async () => 0))
      expect(code).to.equal('storage_failed')
    })

    it('gives up after the wait, and is free when the action fails', async () => {
      const failed = withFileLock(path, async () => {
        expect((await failureOf(() => withFileLock(path, async () => 0, 0))).code).to.equal(
          'config_busy',
        )
        throw new RangeError('no')
      })
      expect(await failed.catch((error: Error) => error.message)).to.equal('no')
      expect(await withFileLock(path, async () => 7, 0)).to.equal(7)
    })
  })
})
