import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { readAuth } from '../../../src/commands/auth-settings.ts'
import { createKey } from '../../../src/commands/keys/run.ts'
import { skipBecause } from '../../helpers/skip.ts'
import { keysMarkPath, markKeysMade, wereKeysMade } from '../../../src/lib/config/keys-mark.ts'

describe('keys in a folder that is emptied', () => {
  let home: string
  let env: NodeJS.ProcessEnv
  const before = process.env.TMPDIR

  beforeEach(async () => {
    home = await mkdtemp(join(tmpdir(), 'lost-'))
    env = { XDG_CONFIG_HOME: join(home, 'config') }
    // The usual registry folder is below the temporary one.
    process.env.TMPDIR = home
  })
  afterEach(async () => {
    if (before === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = before
    await rm(home, { recursive: true, force: true })
  })

  const write = () => true
  const create = (flags: { 'registry-dir'?: string } = {}) =>
    createKey(
      'anna',
      { ...flags, 'read-only': false, json: false, quiet: false },
      { stdout: { write }, stderr: { write }, env },
    )
  const start = (registryDir?: string, auth?: 'none') =>
    readAuth(
      { host: '127.0.0.1', registryDir },
      { 'allow-unauthenticated': false, ...(auth !== undefined && { auth }) },
      env,
    ).then(
      ({ mode }) => mode,
      error => error.code,
    )
  const usual = () => join(home, `service-cli-${process.getuid?.() ?? ''}`)

  it('do not leave an open server behind', async function () {
    if (process.getuid === undefined) skipBecause(this, 'the folder is found by TMPDIR and uid')
    expect(await start()).to.equal('none')
    await create()
    expect(await start()).to.equal('api-key')
    await rm(usual(), { recursive: true })
    expect(await start()).to.equal('config_invalid')
    expect(await start(undefined, 'none')).to.equal('none')
    expect(await start(join(home, 'another'))).to.equal('none')
    await create()
    expect(await start()).to.equal('api-key')
  })

  it('are not remembered where the folder was named', async () => {
    await create({ 'registry-dir': join(home, 'named') })
    expect(await wereKeysMade(env)).to.equal(false)
  })

  it('are remembered in a file for their owner alone', async () => {
    await markKeysMade(env)
    await markKeysMade(env)
    expect(await wereKeysMade(env)).to.equal(true)
    if (process.getuid !== undefined) {
      expect((await stat(keysMarkPath(env))).mode & 0o777).to.equal(0o600)
    }
  })
})
