import { expect } from 'chai'
import { unzipSync } from 'fflate'
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createWriteStream, readFileSync } from 'node:fs'
import {
  cp,
  mkdir,
  mkdtemp,
  readFile,
  readdir,
  realpath,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { FullDisk, runCommand } from '../helpers/in-process.ts'
import { type Ended, cleanEnv, exitOf, root, textOf } from '../helpers/program.ts'
import { skipBecause } from '../helpers/skip.ts'

const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const zipName = `service-cli-blender-${version}.zip`
const init = 'bl_info = {"name": "Service CLI Link", "version": (1, 2, 3)}\n'
const client = 'VERSION = "1.2.3"\n'

/**
 * `run` starts the real program as it is installed, with adapters of a few lines; `runCommand` is
 * enough for what does not depend on either.
 */
describe('service-cli adapter', () => {
  let parent: string
  let installed: string
  let folder: string
  let env: NodeJS.ProcessEnv
  const cwd = process.cwd()

  before(async () => {
    parent = await realpath(await mkdtemp(join(tmpdir(), 'adapter-')))
    // Code of a path that is used once has no place in the cache that the tests share.
    env = cleanEnv({ XDG_CACHE_HOME: join(parent, 'cache') })
    installed = join(parent, 'package')
    for (const part of ['bin', 'dist', 'package.json']) {
      await cp(join(root, part), join(installed, part), { recursive: true })
    }
    await symlink(await realpath(join(root, 'node_modules')), join(installed, 'node_modules'))
    const addon = join(installed, 'adapters', 'blender', 'service_cli_link')
    await mkdir(join(addon, '__pycache__'), { recursive: true })
    await writeFile(join(addon, '__pycache__', 'x.pyc'), '')
    await writeFile(join(addon, '__init__.py'), init)
    const python = join(installed, 'adapters', 'python', 'service_host_link')
    await mkdir(python, { recursive: true })
    await writeFile(join(python, '__init__.py'), client)
  })
  beforeEach(async () => {
    folder = await mkdtemp(join(parent, 'work-'))
    process.chdir(folder)
  })
  afterEach(() => process.chdir(cwd))
  after(() => rm(parent, { recursive: true, force: true }))

  async function run(...args: string[]): Promise<Ended> {
    const child = spawn(process.execPath, [join(installed, 'bin', 'run.js'), ...args], {
      cwd: folder,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const texts = Promise.all([textOf(child.stdout), textOf(child.stderr)])
    const code = await exitOf(child)
    const [out, err] = await texts
    return { code, stdout: out, stderr: err }
  }
  const files = () => readdir(folder)

  it('alone shows both commands', async () => {
    const { code, stdout } = await run('adapter')
    expect(code).to.equal(0)
    expect(stdout)
      .to.match(/^ {2}adapter blender {2}/m)
      .and.match(/^ {2}adapter python {3}/m)
  })

  it('hints at the command that was meant', async () => {
    const { code, stderr } = await runCommand(['adapter', 'blendr'])
    expect(code).to.equal(2)
    expect(stderr).to.contain(
      'command adapter blendr not found\nhint: did you mean adapter blender?',
    )
  })

  describe('blender', () => {
    it('writes the add-on, and says what to do next', async () => {
      const { code, stdout, stderr } = await run('adapter', 'blender')
      expect([code, stderr]).to.deep.equal([0, ''])
      expect(await files()).to.deep.equal([zipName])
      const entries = unzipSync(await readFile(join(folder, zipName)))
      expect(Object.keys(entries)).to.deep.equal([
        'service_cli_link/__init__.py',
        'service_cli_link/service_host_link.py',
      ])
      expect(Buffer.from(entries['service_cli_link/__init__.py'] ?? []).toString()).to.equal(init)
      expect(stdout).to.match(new RegExp(`^wrote ${zipName} \\(\\d+ bytes\\)\n`))
      expect(stdout).to.contain('Edit > Preferences > Add-ons > Install…').and.contain('Connect')
      expect(stdout).to.contain(` -- ${join(folder, zipName)}\n`)
      const lines = stdout.split('\n').filter(line => !line.includes(parent))
      for (const line of lines) expect(line.length, line).to.be.at.most(80)
    })

    it('writes the same bytes each time, to a file and to stdout', async () => {
      const first = await runCommand(['adapter', 'blender', '--out', 'a.zip', '-q'])
      const stdout = createWriteStream('b.zip')
      const second = await runCommand(['adapter', 'blender', '-o', '-'], { stdout })
      const silent = { code: 0, stdout: '', stderr: '' }
      expect([first, second]).to.deep.equal([silent, silent])
      const [one, other] = await Promise.all(['a.zip', 'b.zip'].map(name => readFile(name)))
      expect(one?.equals(other ?? Buffer.alloc(0))).to.equal(true)
    })

    it('is one JSON line with --json', async () => {
      for (const args of [
        ['--json', 'adapter', 'blender'],
        ['adapter', 'blender', '--json', '-f'],
      ]) {
        const { code, stdout, stderr } = await runCommand(args)
        expect([code, stderr]).to.deep.equal([0, ''])
        const bytes = await readFile(join(folder, zipName))
        expect(stdout.endsWith('\n')).to.equal(true)
        expect(JSON.parse(stdout)).to.deep.equal({
          event: 'written',
          file: join(folder, zipName),
          bytes: bytes.length,
          sha256: createHash('sha256').update(bytes).digest('hex'),
        })
      }
    })
  })

  describe('python', () => {
    it('writes the one file, and says what to do next', async () => {
      const { code, stdout } = await runCommand(['adapter', 'python'])
      expect(code).to.equal(0)
      const printed = await runCommand(['adapter', 'python', '--out', '-'])
      expect(await readFile('service_host_link.py', 'utf8')).to.equal(printed.stdout)
      expect(stdout).to.contain('wrote service_host_link.py').and.contain('run.js serve')
    })

    it('writes it to stdout', async () => {
      const ended = await run('adapter', 'python', '--out', '-')
      expect(ended).to.deep.equal({ code: 0, stdout: client, stderr: '' })
      expect(await files()).to.deep.equal([])
    })
  })

  describe('when it cannot', () => {
    for (const [command, name] of [
      ['blender', zipName],
      ['python', 'service_host_link.py'],
    ] as const) {
      it(`${command} keeps a file that is there, unless --force is given`, async () => {
        await writeFile(join(folder, name), 'mine')
        const refused = await runCommand(['adapter', command])
        expect(refused).to.deep.equal({
          code: 1,
          stdout: '',
          stderr: `error: ${name} already exists\nhint: choose another --out, or add --force to replace it\n`,
        })
        const json = await runCommand(['adapter', command, '--json'])
        expect(JSON.parse(json.stdout).error.code).to.equal('file_exists')
        expect(await readFile(join(folder, name), 'utf8')).to.equal('mine')
        expect((await runCommand(['adapter', command, '--force'])).code).to.equal(0)
        expect(await readFile(join(folder, name), 'utf8')).not.to.equal('mine')
        expect(await files()).to.deep.equal([name])
      })
    }

    const failures: [words: string, args: string[], code: number, message: RegExp][] = [
      ['for an empty name', ['--out', ''], 2, /--out is empty/],
      ['for a folder', ['--out', '.'], 2, /--out \. is a folder/],
      ['for --json beside --out -', ['--out', '-', '--json'], 2, /both want stdout/],
      ['for a missing folder', ['--out', 'no/a'], 1, /cannot write no\/a \(ENOENT\).*create it/s],
      ['for a word too many', ['a.zip'], 2, /unexpected argument of adapter/],
      ['for an unknown flag', ['--output', 'a'], 2, /nonexistent flag: --output/],
    ]
    for (const [words, args, code, message] of failures) {
      it(`ends with ${code} ${words}`, async () => {
        const ended = await runCommand(['adapter', 'blender', ...args])
        expect(ended.code).to.equal(code)
        const said = args.includes('--json') ? ended.stdout : ended.stderr
        expect(said).to.match(message)
        expect(await files()).to.deep.equal([])
      })
    }

    it('ends with 1 in a folder that takes no file', async function () {
      // Where modes do not stop root, the system's own folders do.
      if (process.platform !== 'linux') skipBecause(this, '/sys is a folder of Linux')
      const args = ['adapter', 'blender', '--out', '/sys/kernel/a.zip']
      const { code, stderr } = await runCommand(args)
      expect(code).to.equal(1)
      expect(stderr).to.match(/cannot write \/sys\/kernel\/a\.zip \((EACCES|EPERM|EROFS|ENOENT)\)/)
      expect(stderr).to.match(/^hint: /m)
    })

    it('ends with 1 when stdout is full', async () => {
      const args = ['adapter', 'blender', '--out', '-']
      const { code, stderr } = await runCommand(args, { stdout: new FullDisk() })
      expect(code).to.equal(1)
      expect(stderr).to.equal('error: cannot write to stdout (ENOSPC)\n')
    })

    it('ends quietly with 0 when the reader has gone', async () => {
      const script = join(installed, 'bin', 'run.js')
      const child = spawn(process.execPath, [script, 'adapter', 'blender', '--out', '-'], {
        cwd: folder,
        env,
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      child.stdout.destroy()
      const stderr = textOf(child.stderr)
      expect([await exitOf(child), await stderr]).to.deep.equal([0, ''])
    })

    it('says that the package is not whole when its files are missing', async () => {
      const adapters = join(installed, 'adapters')
      const aside = join(parent, 'aside')
      await cp(adapters, aside, { recursive: true })
      await rm(adapters, { recursive: true })
      try {
        const { code, stderr } = await run('adapter', 'blender')
        expect(code).to.equal(1)
        expect(stderr).to.contain('lacks').and.contain('hint: install service-cli anew')
        expect(await files()).to.deep.equal([])
      } finally {
        await cp(aside, adapters, { recursive: true })
        await rm(aside, { recursive: true })
      }
    })
  })
})
