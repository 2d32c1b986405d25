import {
  chmod,
  chown,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { readAuth } from '../../../src/commands/auth-settings.ts'
import { createKey, listKeys, revokeKey } from '../../../src/commands/keys/run.ts'
import { findAccountKeys } from '../../../src/lib/config/account-keys.ts'
import { createKeyStore } from '../../../src/lib/config/key-store.ts'
import {
  formatKeys,
  keyDigest,
  type NamedKey,
  readKeysFile,
} from '../../../src/lib/auth/keys-file.ts'
import { skipBecause } from '../../helpers/skip.ts'
import { givenMembers } from '../../helpers/given-members.ts'

function entry(name: string, key = name): NamedKey {
  const createdAt = '2026-11-01T00:00:00.000Z'
  return { name, sha256: keyDigest(key), scope: 'write', createdAt, expiresAt: null }
}

describe('keys of older versions', () => {
  let home: string
  let env: NodeJS.ProcessEnv
  let usual: string
  let path: string
  let mark: string
  const before = process.env.TMPDIR

  beforeEach(async function () {
    if (process.getuid === undefined) skipBecause(this, 'the folder is found by TMPDIR and uid')
    home = await mkdtemp(join(tmpdir(), 'older-'))
    env = { XDG_CONFIG_HOME: join(home, 'config') }
    path = join(home, 'config/service-cli/keys.json')
    mark = join(home, 'config/service-cli/keys-were-made')
    usual = join(home, `service-cli-${process.getuid()}`)
    // The usual state directory is below the temporary one.
    process.env.TMPDIR = home
  })
  afterEach(async () => {
    if (before === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = before
    await rm(home, { recursive: true, force: true })
  })

  let said = ''
  const here = () => ({
    stdout: { write: () => true },
    stderr: { write: (text: string) => (said += text) },
    env,
  })
  const flags = { json: false, quiet: false, 'read-only': false }
  const start = (registryDir?: string, other: { auth?: 'none'; 'keys-file'?: string } = {}) =>
    readAuth(
      { host: '127.0.0.1', registryDir },
      { 'allow-unauthenticated': false, ...other },
      env,
    ).then(givenMembers, error => error)
  const mode = async (...where: Parameters<typeof start>) => {
    const started = await start(...where)
    return started.mode ?? started.code
  }
  async function leave(folder: string, keys: readonly NamedKey[]): Promise<string> {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const file = join(folder, 'keys.json')
    await writeFile(file, formatKeys(keys), { mode: 0o600 })
    return file
  }
  const names = async () => (await readKeysFile(path))?.map(({ name }) => name)

  it('are moved by the first server, whatever state directory it has', async () => {
    await leave(usual, [entry('anna')])
    await mkdir(join(home, 'config/service-cli'), { recursive: true, mode: 0o700 })
    await writeFile(mark, '')
    const auth = await start(join(home, 'another'))
    const movedFrom = [{ file: join(usual, 'keys.json'), renamed: [] }]
    expect(auth).to.deep.equal({ mode: 'api-key', keysFile: path, movedFrom })
    expect(await names()).to.deep.equal(['anna'])
    expect((await stat(path)).mode & 0o777).to.equal(0o600)
    expect(await readdir(usual)).to.deep.equal([])
    expect(await readdir(join(path, '..'))).not.to.include('keys-were-made')
    expect(await start()).to.deep.equal({ mode: 'api-key', keysFile: path })
  })

  it('are moved by the commands, from a named folder too, and joined', async () => {
    await leave(usual, [entry('anna')])
    const named = join(home, 'named')
    await leave(named, [entry('ben')])
    said = ''
    await listKeys({ ...flags, 'registry-dir': named }, here())
    expect(said).to.contain(`the keys of ${join(named, 'keys.json')} were moved to ${path}`)
    expect(await names()).to.have.members(['anna', 'ben'])
  })

  it('do not come back after they were revoked, when the move was cut short', async () => {
    const file = await leave(usual, [entry('anna'), entry('ben')])
    const text = await readFile(file)
    await start()
    // As after a crash between the new file and the removal of the old one.
    await writeFile(file, text, { mode: 0o600 })
    await revokeKey('anna', flags, here())
    expect(await names()).to.deep.equal(['ben'])
    await start()
    expect(await names()).to.deep.equal(['ben'])
  })

  it('stop every server as long as they cannot be read', async () => {
    const file = await leave(usual, [entry('anna')])
    await chmod(file, 0o644)
    const wide = await start(join(home, 'another'))
    expect(wide).to.include({ code: 'config_invalid' })
    expect(wide.message).to.contain(`${file} is open to other users`)
    await writeFile(file, '{')
    await chmod(file, 0o600)
    expect(await mode(join(home, 'another'), { auth: 'none' })).to.equal('config_invalid')
    await leave(usual, [entry('anna')])
    expect(await mode()).to.equal('api-key')
  })

  it('get another name where a different key has theirs, and that is said once', async () => {
    const long = 'x'.repeat(64)
    await createKeyStore(path).update(() => [entry('key-1'), entry(long)])
    const named = join(home, 'named')
    const others = [entry('key-1', 'b'), entry('key-1-2', 'c'), entry(long, 'd'), entry('ben')]
    const file = await leave(named, others)
    const text = await readFile(file)
    const { movedFrom } = await start(named)
    const short = `${'x'.repeat(62)}-2`
    const renamed = [
      { from: 'key-1', to: 'key-1-3' },
      { from: long, to: short },
    ]
    expect(movedFrom).to.deep.equal([{ file, renamed }])
    expect(await names()).to.deep.equal(['key-1', long, 'key-1-3', 'key-1-2', short, 'ben'])
    // As after a crash between the new file and the removal of the old one.
    await writeFile(file, text, { mode: 0o600 })
    expect(await start(named)).to.deep.include({ movedFrom: [{ file, renamed: [] }] })
    expect(await names()).to.have.lengthOf(6)
    await leave(usual, [entry('ben', 'e')])
    said = ''
    await listKeys(flags, here())
    expect(said).to.contain('the moved key "ben" is now "ben-2"')
  })

  it('that went with their folder leave no open server behind, until there are new ones', async () => {
    await mkdir(join(home, 'config/service-cli'), { recursive: true, mode: 0o700 })
    await writeFile(mark, '')
    expect(await mode()).to.equal('config_invalid')
    expect(await mode(join(home, 'another'))).to.equal('config_invalid')
    expect(await mode(undefined, { auth: 'none' })).to.equal('none')
    await createKey('anna', flags, here())
    expect(await mode()).to.equal('api-key')
    expect(await readdir(join(path, '..'))).not.to.include('keys-were-made')
    await rm(path)
    expect(await mode()).to.equal('none')
  })

  it('are no concern of a server with a file of its own', async () => {
    await leave(usual, [entry('anna')])
    const own = join(home, 'own/keys.json')
    const missing = await start(undefined, { 'keys-file': own })
    expect(missing).to.include({ code: 'config_invalid' })
    expect(missing.message).to.contain(`no key exists in ${own}`)
    await createKeyStore(own).update(() => [entry('carl')])
    expect(await start(undefined, { 'keys-file': own })).to.include({ keysFile: own })
    expect(await readdir(usual)).to.deep.equal(['keys.json'])
  })

  it('in a folder of another user are none of ours', async function () {
    if (process.getuid?.() !== 0) skipBecause(this, 'only root can give a folder away')
    await leave(usual, [entry('evil')])
    await chown(usual, 65534, 65534)
    await chown(join(usual, 'keys.json'), 65534, 65534)
    expect(await mode(join(home, 'another'))).to.equal('none')
    expect(await findAccountKeys(undefined, env)).to.deep.include({ keys: null, movedFrom: [] })
  })
})
