import { expect } from 'chai'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { chmod, cp, mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { newFolder } from '../helpers/cleanup.ts'
import { writeInstance } from '../helpers/instances.ts'
import { cleanEnv, exitOf, root, runProgram, startProgram, textOf } from '../helpers/program.ts'
import { skipBecause } from '../helpers/skip.ts'

const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

describe('the program service-cli', () => {
  let folder: string
  beforeEach(() => (folder = newFolder()))

  it('prints its version without loading the commands', async () => {
    const env = { ...process.env, NODE_DEBUG: 'esm' }
    const { code, stdout, stderr } = await runProgram(['--version'], { env })
    expect(code).to.equal(0)
    expect(stdout).to.match(/^service-cli\/\S+ \S+ node-v\d+\.\d+\.\d+\n$/)
    expect(stdout).to.contain(`service-cli/${version} `)
    expect(stderr).to.contain('bin/run.js').and.not.contain('dist/main.js')
  })

  it('ends quietly with 0 when nobody reads any more', async () => {
    const child = startProgram(['instances', '--watch', '--registry-dir', folder])
    const stderr = textOf(child.stderr)
    if (child.stdout === null) throw new Error('no stdout')
    await once(child.stdout, 'data')
    child.stdout.destroy()
    const exited = exitOf(child)
    const instance = await writeInstance(folder)
    expect([await exited, await stderr]).to.deep.equal([0, ''])
    await instance.remove()
  })

  it('runs no plugin of the shared temporary folder where there is no home', async () => {
    const data = join(folder, '.local/share/service-cli')
    const plugin = join(data, 'node_modules/evil')
    const ran = join(folder, 'ran')
    const plugins = { schema: 1, plugins: [{ name: 'evil', type: 'user' }] }
    const hooks = { name: 'evil', version: '1.0.0', oclif: { hooks: { init: './hook.js' } } }
    await mkdir(plugin, { recursive: true })
    const settings = { name: 'plugins', oclif: plugins, dependencies: { evil: '1' } }
    await writeFile(join(data, 'package.json'), JSON.stringify(settings))
    await writeFile(join(plugin, 'package.json'), JSON.stringify(hooks))
    const code = `require('fs').writeFileSync(${JSON.stringify(ran)}, ''); module.exports = () => {}`
    await writeFile(join(plugin, 'hook.js'), code)
    const env = cleanEnv({ HOME: '', TMPDIR: folder, XDG_CACHE_HOME: undefined })
    await runProgram(['instances'], { env })
    expect(existsSync(ran)).to.equal(false)
    expect(existsSync(join(folder, '.cache'))).to.equal(false)
  })
})

describe('the cache of compiled code', () => {
  let folder: string
  let home: string
  let cache: string
  beforeEach(async function () {
    if (process.getuid === undefined) skipBecause(this, 'owners and modes are of POSIX systems')
    folder = newFolder()
    home = join(folder, 'home')
    cache = join(home, '.cache/service-cli/compile-cache')
    await mkdir(join(folder, 'tmp'))
    await mkdir(join(folder, 'dist'))
    await mkdir(cache, { recursive: true, mode: 0o700 })
    for (const name of ['bin/run.js', 'package.json']) {
      await cp(join(root, name), join(folder, name))
    }
    await writeFile(join(folder, 'dist/main.js'), 'export const main = () => process.exit(2)')
  })

  /** Starts the program before a main module that only ends with 2. */
  async function run(): Promise<void> {
    const env = cleanEnv({ HOME: home, TMPDIR: join(folder, 'tmp'), XDG_CACHE_HOME: undefined })
    const child = spawn(process.execPath, [join(folder, 'bin/run.js')], { env })
    expect(await exitOf(child)).to.equal(2)
  }

  it('is in a private folder below the home folder, and nothing is in the temporary one', async () => {
    await rm(join(home, '.cache'), { recursive: true })
    await run()
    expect((await stat(cache)).mode & 0o777).to.equal(0o700)
    expect(await readdir(cache)).to.have.lengthOf(1)
    expect(await readdir(join(folder, 'tmp'))).to.deep.equal([])
  })

  it('is not used where others can read', async () => {
    await chmod(cache, 0o755)
    await run()
    expect(await readdir(cache)).to.deep.equal([])
  })
})
