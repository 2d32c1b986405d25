import { chmod, chown, mkdir, mkdtemp, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { selectStateDirectory } from '../../../src/lib/config/paths.ts'
import { openStateDirectory } from '../../../src/lib/instances/state-directory.ts'
import { failureOf } from '../../helpers/failure.ts'
import { skipBecause } from '../../helpers/skip.ts'

const posix = process.getuid !== undefined
const needsPosix = 'owners, modes and links need a POSIX system'

describe('selectStateDirectory', () => {
  const own = join(tmpdir(), `service-cli-${process.geteuid?.()}`)
  for (const [option, env, chosen] of [
    ['/a', { SERVICE_REGISTRY_DIR: '/b' }, '/a'],
    [undefined, { SERVICE_REGISTRY_DIR: '/b' }, '/b'],
    ['', { SERVICE_REGISTRY_DIR: '/b/' }, '/b'],
    ['sub', {}, join(process.cwd(), 'sub')],
    [undefined, { SERVICE_REGISTRY_DIR: '' }, own],
    [undefined, {}, own],
  ] as const) {
    it(`takes ${chosen} for option ${option} and ${JSON.stringify(env)}`, function () {
      if (!posix) skipBecause(this, needsPosix)
      expect(selectStateDirectory(option, env)).to.equal(chosen)
    })
  }
})

describe('the state directory of Windows', () => {
  it('lies in the profile, where packaged programs see it, too', () => {
    const path = selectStateDirectory(undefined, {}, 'win32')
    expect(path).to.equal(join(homedir(), '.service-cli'))
  })
})

describe('openStateDirectory', () => {
  let base: string
  beforeEach(async () => (base = await mkdtemp(join(tmpdir(), 'registry-dir-'))))
  afterEach(() => rm(base, { recursive: true, force: true }))

  const modeOf = async (path: string) => (await stat(path)).mode & 0o777

  const refusal = (path: string) => failureOf(() => openStateDirectory(path))

  it('makes the folder and instances/ for this user alone, and opens them again', async () => {
    const path = join(base, 'deep', 'registry')
    expect(await openStateDirectory(path)).to.deep.equal({
      path,
      instances: join(path, 'instances'),
    })
    for (const made of [path, join(path, 'instances')]) {
      if (posix) expect(await modeOf(made)).to.equal(0o700)
    }
    await writeFile(join(path, 'instances', 'x.json'), '{}')
    await openStateDirectory(path)
  })

  it('closes an empty folder that is open to others', async function () {
    if (!posix) skipBecause(this, needsPosix)
    await mkdir(join(base, 'r'))
    await chmod(join(base, 'r'), 0o777)
    await openStateDirectory(join(base, 'r'))
    expect(await modeOf(join(base, 'r'))).to.equal(0o700)
  })

  it('refuses a folder in use that is open to others, and leaves its mode', async function () {
    if (!posix) skipBecause(this, needsPosix)
    for (const mode of [0o755, 0o701]) {
      await mkdir(join(base, 'r'), { recursive: true })
      await writeFile(join(base, 'r', 'somebody'), '')
      await chmod(join(base, 'r'), mode)
      const error = await refusal(join(base, 'r'))
      expect(error.code).to.equal('registry_dir_unsafe')
      expect(error.message).to.contain(join(base, 'r')).and.contain(mode.toString(8))
      expect(error.hint).to.match(/--registry-dir, or chmod 700/)
      expect(await modeOf(join(base, 'r'))).to.equal(mode)
    }
  })

  it('refuses an open instances/ folder in use', async function () {
    if (!posix) skipBecause(this, needsPosix)
    const { instances } = await openStateDirectory(join(base, 'r'))
    await writeFile(join(instances, 'x.token'), '')
    await chmod(instances, 0o755)
    expect((await refusal(join(base, 'r'))).message).to.contain(instances)
  })

  it('refuses a symlink, also with a trailing slash', async () => {
    await mkdir(join(base, 'real'), { mode: 0o700 })
    await symlink(join(base, 'real'), join(base, 'link'))
    for (const path of [join(base, 'link'), `${join(base, 'link')}/`]) {
      const error = await refusal(path)
      expect(error.code).to.equal('registry_dir_unsafe')
      expect(error.message).to.contain('symbolic link')
    }
  })

  it('refuses the folder of another user', async function () {
    if (process.getuid?.() !== 0) skipBecause(this, 'only root can give a file to somebody else')
    await mkdir(join(base, 'r'), { mode: 0o700 })
    await chown(join(base, 'r'), 65534, 65534)
    const error = await refusal(join(base, 'r'))
    expect(error.code).to.equal('registry_dir_unsafe')
    expect(error.message).to.contain('65534')
    expect(error.hint).to.contain('--registry-dir')
  })

  it('refuses a file, and a place where nothing can be made', async () => {
    await writeFile(join(base, 'file'), '')
    expect((await refusal(join(base, 'file'))).code).to.equal('registry_dir_unsafe')
    const path = join(base, 'file', 'registry')
    const error = await refusal(path)
    expect(error.code).to.equal('storage_failed')
    expect(error.message).to.contain(path).and.contain('ENOTDIR')
    expect(error.hint).to.contain('--registry-dir')
  })
})
