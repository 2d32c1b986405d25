import { expect } from 'chai'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runCommand } from '../helpers/in-process.ts'
import { exitOf, firstLine, root, runProgram, startProgram } from '../helpers/program.ts'
import { skipBecause } from '../helpers/skip.ts'

const pjson: { version: string; engines: { node: string } } = JSON.parse(
  readFileSync(join(root, 'package.json'), 'utf8'),
)

describe('service-cli', () => {
  for (const flag of ['--version', '-V']) {
    it(`prints its version with ${flag}`, async () => {
      const { code, stdout } = await runProgram([flag])
      expect(code).to.equal(0)
      expect(stdout).to.match(/^service-cli\/\S+ \S+ node-v\d+\.\d+\.\d+\n$/)
      expect(stdout).to.contain(`service-cli/${pjson.version} `)
    })
  }

  it('answers --version without loading the program', async () => {
    const trace = { ...process.env, NODE_DEBUG: 'esm' }
    const { stderr } = await runProgram(['--version'], { env: trace })
    expect(stderr).not.to.contain('dist/main.js')
    const { stderr: help } = await runProgram(['--help'], { env: trace })
    expect(help).to.contain('dist/main.js')
  })

  it('builds nothing, and says nothing, when dist is fresh', () => {
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      ['scripts/build.js', '--if-stale'],
      { cwd: root, encoding: 'utf8' },
    )
    expect({ status, stdout, stderr }).to.deep.equal({ status: 0, stdout: '', stderr: '' })
  })

  it('asks for the Node version of package.json', () => {
    const entry = readFileSync(join(root, 'bin/run.js'), 'utf8')
    const needed = /needed = '([\d.]+)'/.exec(entry)?.[1]
    expect(`>=${needed}`).to.equal(pjson.engines.node)
  })

  it('says what it needs on an older Node without a newer one beside it', async function () {
    const old = findOldNode()
    if (old === null) skipBecause(this, 'there is no older Node on this machine')
    const folder = await mkdtemp(join(tmpdir(), 'old-node-'))
    await mkdir(join(folder, 'bin'))
    await writeFile(join(folder, 'package.json'), '{"type":"module"}')
    await copyFile(join(root, 'bin/run.js'), join(folder, 'bin/run.js'))
    for (const args of [[], ['--version'], ['serve']]) {
      const { status, stdout, stderr } = spawnSync(old.path, [join(folder, 'bin/run.js'), ...args])
      expect(status).to.equal(1)
      expect(String(stdout)).to.equal('')
      expect(String(stderr)).to.equal(
        `service-cli needs Node 24.15 or newer, this is ${old.version}\n`,
      )
    }
    await rm(folder, { recursive: true })
  })

  it('continues on the Node of the checkout, with its exit code and signals', async function () {
    const old = findOldNode()
    if (old === null) skipBecause(this, 'there is no older Node on this machine')
    const version = await runProgram(['--version'], { node: old.path })
    expect(version).to.include({ code: 0, stderr: '' })
    expect(version.stdout).to.contain('node-v24.')
    expect((await runProgram(['nosuch'], { node: old.path })).code).to.equal(2)
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      const registryDir = await mkdtemp(join(tmpdir(), 'old-node-'))
      const words = ['serve', '--port', '0', '--json', '--registry-dir', registryDir]
      const child = startProgram(words, { node: old.path })
      const { pid } = JSON.parse(await firstLine(child.stdout))
      expect(pid).not.to.equal(child.pid)
      child.kill(signal)
      expect(await exitOf(child)).to.equal(0)
      await rm(registryDir, { recursive: true })
    }
  })

  it('lists its commands', async () => {
    const { code, stdout } = await runCommand(['--help'])
    expect(code).to.equal(0)
    expect(stdout).to.match(/^ {2}serve /m)
  })

  it('shows examples and every flag of serve', async () => {
    const { code, stdout } = await runProgram(['serve', '--help'])
    expect(code).to.equal(0)
    expect(stdout).to.contain('EXAMPLES').and.contain('$ service-cli serve --port 0 --json')
    expect(stdout.replace(/\s+/g, ' ')).to.contain('also run the gateway, or take over when')
    for (const flag of ['--port', '--host', '--public-url', '--no-artefacts', '--limit']) {
      expect(stdout).to.contain(flag)
    }
  })

  const failures: [args: string[], code: number, message: string][] = [
    [['nosuch'], 2, 'command nosuch not found'],
    [['serve', '--prot', '1'], 2, 'nonexistent flag: --prot'],
    [['serve', '--port'], 2, 'flag --port expects a value'],
    [['serve', '--port', 'x'], 2, '--port: expected an integer'],
    [['serve', '--port', '70000'], 2, '--port: expected an integer less than'],
    [['serve', '--log-level', 'loud'], 2, '--log-level'],
    [['serve', '--limit', 'maxSesions=1'], 2, 'did you mean maxSessions?'],
    [['serve', '--host', '0.0.0.0'], 2, '--allow-unauthenticated'],
    [['serve', '--api-key-file', '/nonexistent'], 2, 'no such file'],
  ]
  for (const [args, code, message] of failures) {
    it(`ends with ${code} for ${args.join(' ')}, as text and as JSON`, async () => {
      const text = await runCommand(args)
      expect(text.code).to.equal(code)
      expect(text.stdout).to.equal('')
      expect(text.stderr)
        .to.match(/^error: /)
        .and.contain(message)

      const json = await runCommand(['--json', ...args])
      expect(json.code).to.equal(code)
      const { error } = JSON.parse(json.stdout) as { error: Record<string, unknown> }
      expect(error.code).to.match(/^(usage|config)_invalid$/)
      expect(`${String(error.message)} ${String(error.hint)}`).to.contain(message)
    })
  }

  it('ends with 2 when only flags are given', async () => {
    for (const [args, stream] of [
      [['--json'], 'stdout'],
      [['-q'], 'stderr'],
    ] as const) {
      const ended = await runCommand(args)
      expect(ended.code).to.equal(2)
      expect(ended[stream]).to.contain(`no command given after ${args[0]}`)
    }
  })

  it('ends quietly with 0 when the reader has gone', async () => {
    for (const args of [['--version'], ['serve', '--help']]) {
      const child = startProgram(args)
      child.stdout?.destroy()
      let stderr = ''
      child.stderr?.on('data', chunk => (stderr += String(chunk)))
      expect(await exitOf(child)).to.equal(0)
      expect(stderr).to.equal('')
    }
  })

  it('keeps its exit code when nobody hears the error', async () => {
    const child = startProgram(['nosuch'])
    child.stderr?.destroy()
    expect(await exitOf(child)).to.equal(2)
  })
})

/** A Node of the system that is too old, if there is one. */
function findOldNode(): { path: string; version: string } | null {
  for (const path of ['/usr/local/bin/node', '/usr/bin/node']) {
    const { status, stdout } = spawnSync(path, ['-p', 'process.versions.node'], {
      encoding: 'utf8',
    })
    const version = status === 0 ? stdout.trim() : ''
    if (version !== '' && Number(version.split('.')[0]) < 24) return { path, version }
  }
  return null
}
