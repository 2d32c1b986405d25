import { expect } from 'chai'
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import {
  chmod,
  chown,
  cp,
  mkdir,
  mkdtemp,
  readdir,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cleanEnv, exitOf, root, runProgram } from '../helpers/program.ts'
import { skipBecause } from '../helpers/skip.ts'

describe('the cache of compiled code', () => {
  let home: string
  let shared: string
  const env = (extra: NodeJS.ProcessEnv = {}) =>
    cleanEnv({ HOME: home, TMPDIR: shared, XDG_CACHE_HOME: undefined, ...extra })
  /** The start of the program before a main module that only ends with 2. */
  const run = (extra?: NodeJS.ProcessEnv) =>
    exitOf(spawn(process.execPath, [join(home, '../bin/run.js')], { env: env(extra) }))

  beforeEach(async function () {
    if (process.getuid === undefined) skipBecause(this, 'owners and modes are of POSIX systems')
    const folder = await mkdtemp(join(tmpdir(), 'compile-cache-'))
    home = join(folder, 'home')
    shared = join(folder, 'tmp')
    await Promise.all([home, shared, join(folder, 'dist')].map(path => mkdir(path)))
    for (const name of ['bin/run.js', 'package.json'])
      await cp(join(root, name), join(folder, name))
    await writeFile(join(folder, 'dist/main.js'), 'export const main = () => process.exit(2)')
  })
  afterEach(() => rm(join(home, '..'), { recursive: true, force: true }))

  it('is in a private folder below the home folder, and nothing is in the temporary one', async () => {
    expect((await runProgram(['whoami', 'nosuch'], { env: env() })).code).to.equal(2)
    const folder = join(home, '.cache/service-cli/compile-cache')
    expect((await stat(folder)).mode & 0o777).to.equal(0o700)
    expect(await readdir(folder)).to.have.lengthOf(1)
    expect(await readdir(shared)).to.deep.equal([])
  })

  it('is below XDG_CACHE_HOME', async () => {
    await run({ XDG_CACHE_HOME: join(home, 'caches') })
    expect(await readdir(join(home, 'caches/service-cli/compile-cache'))).to.have.lengthOf(1)
    expect(existsSync(join(home, '.cache'))).to.equal(false)
  })

  it('is not used where others can write, or where there is no home', async () => {
    const folder = join(home, '.cache/service-cli/compile-cache')
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const unsafe: [path: string, mode: number][] = [
      [folder, 0o777],
      [folder, 0o755],
      [join(folder, '..'), 0o777],
      [join(folder, '../..'), 0o777],
    ]
    for (const [path, mode] of unsafe) {
      const before = (await stat(path)).mode
      await chmod(path, mode)
      expect(await run()).to.equal(2)
      expect(await readdir(folder), `${path} ${mode.toString(8)}`).to.deep.equal([])
      await chmod(path, before)
    }
    await rm(folder, { recursive: true })
    await symlink(shared, folder)
    for (const extra of [{}, { HOME: '' }, { HOME: 'relative' }]) {
      expect(await run(extra)).to.equal(2)
      expect(await readdir(shared)).to.deep.equal([])
    }
  })

  it('is not used below a sticky folder of another user', async function () {
    if (process.getuid?.() !== 0) skipBecause(this, 'only root can give a folder away')
    const base = join(home, '.cache')
    const folder = join(base, 'service-cli/compile-cache')
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await chmod(base, 0o1777)
    await chown(base, 65534, 65534)
    expect(await run()).to.equal(2)
    expect(await readdir(folder)).to.deep.equal([])
    await chown(base, 0, 0)
    expect(await run()).to.equal(2)
    expect(await readdir(folder)).to.have.lengthOf(1)
  })
})

describe('without a home folder', () => {
  it('no plugin is run from the shared temporary folder, and no script written there', async () => {
    const shared = await mkdtemp(join(tmpdir(), 'plugins-'))
    const data = join(shared, '.local/share/service-cli')
    const plugin = join(data, 'node_modules/evil')
    await mkdir(plugin, { recursive: true })
    const file = join(shared, 'ran')
    await writeFile(
      join(data, 'package.json'),
      JSON.stringify({
        name: 'plugins',
        oclif: { schema: 1, plugins: [{ name: 'evil', type: 'user' }] },
        dependencies: { evil: '1' },
      }),
    )
    await writeFile(
      join(plugin, 'package.json'),
      JSON.stringify({ name: 'evil', version: '1.0.0', oclif: { hooks: { init: './hook.js' } } }),
    )
    await writeFile(
      join(plugin, 'hook.js'),
      `require('fs').writeFileSync(${JSON.stringify(file)}, ''); module.exports = () => {}`,
    )
    const env = cleanEnv({ HOME: '', TMPDIR: shared, XDG_CACHE_HOME: undefined })
    await runProgram(['instances'], { env })
    expect(existsSync(file)).to.equal(false)
    const { code, stderr } = await runProgram(['autocomplete', 'bash'], { env })
    expect({ code, stderr }).to.deep.equal({
      code: 2,
      stderr: 'error: there is no home folder for the script\nhint: set HOME to an absolute path\n',
    })
    expect(existsSync(join(shared, '.cache'))).to.equal(false)
    await rm(shared, { recursive: true })
  })
})
