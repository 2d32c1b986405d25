import { chmod, chown, mkdir, stat, symlink, writeFile } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { selectStateDirectory } from '../../../src/lib/config/paths.ts'
import { openStateDirectory } from '../../../src/lib/instances/state-directory.ts'
import { newFolder } from '../../helpers/cleanup.ts'
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
  beforeEach(() => (base = newFolder()))

  const modeOf = async (path: string) => (await stat(path)).mode & 0o777

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

  const inUse = async (mode: number, folder = 'r', name = 'somebody') => {
    await mkdir(join(base, folder), { recursive: true, mode: 0o700 })
    await writeFile(join(base, folder, name), '')
    await chmod(join(base, folder), mode)
  }
  const linked = async () => {
    await mkdir(join(base, 'real'), { mode: 0o700 })
    await symlink(join(base, 'real'), join(base, 'r'))
  }
  const ofAnother = async () => {
    await mkdir(join(base, 'r'), { mode: 0o700 })
    await chown(join(base, 'r'), 65534, 65534)
  }
  const file = () => writeFile(join(base, 'r'), '')
  const unsafe = 'registry_dir_unsafe'
  const refused: [what: string, make: () => Promise<void>, path: string, ...told: string[]][] = [
    ['a folder in use that is open to others', () => inUse(0o755), 'r', unsafe, 'r', '755'],
    ['one that others can enter', () => inUse(0o701), 'r', unsafe, '701', 'or chmod 700'],
    ['such an instances/', () => inUse(0o755, 'r/instances', 'x'), 'r', unsafe, 'r/instances'],
    ['a symlink', linked, 'r', unsafe, 'symbolic link'],
    ['a symlink with a slash', linked, 'r/', unsafe, 'symbolic link'],
    ['the folder of another user', ofAnother, 'r', unsafe, '65534'],
    ['a file', file, 'r', unsafe],
    ['a place where nothing can be made', file, 'r/state', 'storage_failed', 'r/state', 'ENOTDIR'],
  ]
  for (const [what, make, path, code, ...told] of refused) {
    it(`refuses ${what}, and leaves it as it is`, async function () {
      if (!posix) skipBecause(this, needsPosix)
      if (make === ofAnother && process.getuid?.() !== 0) skipBecause(this, 'only root can chown')
      await make()
      const before = await modeOf(join(base, 'r'))
      const error = await failureOf(() => openStateDirectory(`${base}/${path}`))
      expect(error.code).to.equal(code)
      for (const text of told) expect(`${error.message} ${error.hint}`).to.contain(text)
      expect(error.hint).to.contain('--registry-dir')
      expect(await modeOf(join(base, 'r'))).to.equal(before)
    })
  }
})
