import { expect } from 'chai'
import { unzipSync } from 'fflate'
import { createHash } from 'node:crypto'
import { createWriteStream, readFileSync } from 'node:fs'
import { readFile, readdir, realpath, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readBlenderAddon, readPythonClient } from '../../src/commands/adapter/adapter-files.ts'
import { newFolder } from '../helpers/cleanup.ts'
import { expectEnd, runCommand } from '../helpers/in-process.ts'
import { root } from '../helpers/program.ts'

const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const zipName = `service-cli-blender-${version}.zip`
const clientName = 'service_host_link'

describe('service-cli adapter', () => {
  let folder: string
  const cwd = process.cwd()
  const files = () => readdir(folder)

  beforeEach(async () => {
    folder = await realpath(newFolder())
    process.chdir(folder)
  })
  afterEach(async () => {
    process.chdir(cwd)
    await rm(folder, { recursive: true, force: true })
  })

  it('blender writes the add-on, and says what to do next', async () => {
    const { code, stdout, stderr } = await runCommand(['adapter', 'blender'])
    expect([code, stderr]).to.deep.equal([0, ''])
    expect(await files()).to.deep.equal([zipName])
    const entries = unzipSync(await readFile(zipName))
    const expected = (await readBlenderAddon()).map(({ path }) => `service_cli_link/${path}`)
    expect(Object.keys(entries)).to.have.members(expected)
    expect(stdout).to.match(new RegExp(`^wrote ${zipName} \\(\\d+ bytes\\)\n`))
    expect(stdout)
      .to.contain('Edit > Preferences > Add-ons > Install…')
      .and.contain('press Start Server')
    expect(stdout).to.contain(` -- ${join(folder, zipName)}\n`)
    const lines = stdout.split('\n').filter(line => !line.includes(folder))
    for (const line of lines) expect(line.length, line).to.be.at.most(80)
  })

  it('blender is one JSON line with --json', async () => {
    const { code, stdout, stderr } = await runCommand(['--json', 'adapter', 'blender'])
    expect([code, stderr]).to.deep.equal([0, ''])
    const bytes = await readFile(zipName)
    const sha256 = createHash('sha256').update(bytes).digest('hex')
    const line = { event: 'written', file: join(folder, zipName), bytes: bytes.length, sha256 }
    expect(stdout).to.equal(`${JSON.stringify(line)}\n`)
  })

  it('python writes the folder, and replaces its files only with --force', async () => {
    const { code, stdout } = await runCommand(['adapter', 'python'])
    expect(code).to.equal(0)
    expect(stdout).to.contain(`wrote ${clientName} (`).and.contain('service-cli serve')
    const client = await readPythonClient()
    expect(await readdir(clientName)).to.have.members(client.map(({ path }) => path))
    for (const { path, bytes } of client) {
      expect(await readFile(join(clientName, path))).to.deep.equal(bytes)
    }
    const init = join(clientName, '__init__.py')
    await writeFile(init, 'mine')
    expectEnd(await runCommand(['adapter', 'python']), 1, 'already exists', '--force')
    expect(await readFile(init, 'utf8')).to.equal('mine')
    const forced = await runCommand(['adapter', 'python', '--force', '--json'])
    const line = { event: 'written', folder: join(folder, clientName), files: client.length }
    expect(JSON.parse(forced.stdout)).to.deep.equal(line)
    expect(await readFile(init, 'utf8')).to.contain('HostLink(')
    await writeFile('file', '')
    const failed = await runCommand(['adapter', 'python', '--out', 'file/client'])
    expect([failed.code, failed.stderr]).to.deep.equal([
      1,
      'error: file/client cannot be written (ENOTDIR)\nhint: make file/client writable for you, or use a folder on a local disk\n',
    ])
  })

  it('keeps a file that is there, unless --force is given', async () => {
    await writeFile(zipName, 'mine')
    const refused = await runCommand(['adapter', 'blender'])
    const hint = 'hint: choose another --out, or add --force to replace it\n'
    const stderr = `error: ${zipName} already exists\n${hint}`
    expect(refused).to.deep.equal({ code: 1, stdout: '', stderr })
    const json = await runCommand(['adapter', 'blender', '--json'])
    expect(JSON.parse(json.stdout).error.code).to.equal('file_exists')
    expect(await readFile(zipName, 'utf8')).to.equal('mine')
    expect((await runCommand(['adapter', 'blender', '--force'])).code).to.equal(0)
    expect(await readFile(zipName, 'utf8')).not.to.equal('mine')
    expect(await files()).to.deep.equal([zipName])
  })

  const failures: [args: string[], code: number, message: RegExp][] = [
    [['--out', ''], 2, /--out is empty/],
    [['--out', '.'], 2, /--out \. is a folder/],
    [['--out', '-', '--json'], 2, /both want stdout/],
    [['--out', 'no/a'], 1, /cannot write no\/a \(ENOENT\).*create it/s],
    [['a.zip'], 2, /unexpected argument of adapter/],
  ]
  for (const [args, code, message] of failures) {
    it(`ends with ${code} for ${JSON.stringify(args)}`, async () => {
      const ended = await runCommand(['adapter', 'blender', ...args])
      expect(ended.code).to.equal(code)
      expect(args.includes('--json') ? ended.stdout : ended.stderr).to.match(message)
      expect(await files()).to.deep.equal([])
    })
  }

  it('writes no zip to a terminal', async () => {
    const terminal = (name: string) => Object.assign(createWriteStream(name), { isTTY: true })
    expectEnd(
      await runCommand(['adapter', 'blender', '-o', '-'], { stdout: terminal('a') }),
      2,
      'would fill the terminal',
    )
  })
})
