import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmod,
  chown,
  mkdir,
  mkdtemp,
  readdir,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import type { Ended } from '../helpers/program.ts'
import { runServe, startServeProcess } from '../helpers/serve-process.ts'

const isRoot = process.geteuid?.() === 0

describe('a start that is refused', () => {
  let folder: string

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'refused-'))
  })

  afterEach(() => rm(folder, { recursive: true, force: true }))

  const start = (args: string[] = [], env: Record<string, string> = {}) =>
    runServe(['--registry-dir', join(folder, 'own'), ...portOf(args), ...args], env)

  function expectRefusal(exit: Ended, code: number, ...words: (string | RegExp)[]): void {
    expect(exit.code, exit.stderr).to.equal(code)
    expect(exit.stdout).to.equal('')
    for (const word of words) expect(exit.stderr).to.match(new RegExp(word))
    expect(exit.stderr).not.to.match(/file:\/\/|\n\s+at /)
  }

  it('names the process that holds the port, and --port 0', async () => {
    const first = await startServeProcess()
    try {
      const exit = await start(['--port', String(first.port)])
      const holder = process.platform === 'linux' ? ` is taken by process ${first.pid} ` : ''
      expectRefusal(exit, 1, `port ${first.port}${holder}`, 'service-cli', '--port 0')
      // What the failed start made is gone, what the first one made is not.
      expect(await readdir(join(folder, 'own', 'instances'))).to.deep.equal([])
      const again = await runServe([
        '--port',
        String(first.port),
        '--registry-dir',
        first.registryDir,
      ])
      expectRefusal(again, 1)
      const left = await readdir(join(first.registryDir, 'instances'))
      expect(left.sort()).to.deep.equal([`${first.instanceId}.json`, `${first.instanceId}.token`])
    } finally {
      await first.stop()
    }
  })

  it('names another program that holds the port', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const address = other.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    try {
      const exit = await start(['--port', String(port)])
      expectRefusal(exit, 1, `port ${port}`, String(process.pid), '--port 0')
    } finally {
      other.close()
    }
  })

  it('for an address that is not of this machine', async () => {
    const exit = await start(['--host', '192.0.2.1', '--allow-unauthenticated'])
    expectRefusal(exit, 1, '192.0.2.1', '--host')
  })

  it('for a state directory that is a symbolic link', async () => {
    await mkdir(join(folder, 'real'), { mode: 0o700 })
    await symlink('real', join(folder, 'own'))
    expectRefusal(await start(), 2, 'symbolic link', '--registry-dir')
    expect(await readdir(join(folder, 'real'))).to.deep.equal([])
  })

  it('for a state directory that is a file', async () => {
    await writeFile(join(folder, 'own'), 'kept')
    expectRefusal(await start(), 2, 'not a folder', '--registry-dir')
  })

  it('for a state directory that others can enter and that is in use', async () => {
    await mkdir(join(folder, 'own'))
    await writeFile(join(folder, 'own', 'something'), 'kept')
    await chmod(join(folder, 'own'), 0o755)
    expectRefusal(await start(), 2, '0755', 'chmod 700')
    expect((await stat(join(folder, 'own'))).mode & 0o777).to.equal(0o755)
  })

  it('for an artefact folder that is a symbolic link', async () => {
    await mkdir(join(folder, 'real'), { mode: 0o700 })
    await mkdir(join(folder, 'own'), { mode: 0o700 })
    await symlink('../real', join(folder, 'own', 'dcc-mcp-artefacts'))
    expectRefusal(await start(), 2, 'symbolic link')
    expect(await readdir(join(folder, 'real'))).to.deep.equal([])
  })

  it('for a state directory of another user', async () => {
    let path = '/usr'
    if (isRoot) {
      path = join(folder, 'foreign')
      await mkdir(path, { mode: 0o700 })
      await chown(path, 12_345, 12_345)
    }
    const exit = await runServe(['--port', '0', '--registry-dir', path])
    expectRefusal(exit, 2, 'another user', isRoot ? '12345' : 'uid 0', '--registry-dir')
  })

  it('for an artefact folder of another user', async function () {
    if (!isRoot) return skip(this, 'only root can give a folder away')
    await mkdir(join(folder, 'own', 'dcc-mcp-artefacts'), { recursive: true, mode: 0o700 })
    await chown(join(folder, 'own', 'dcc-mcp-artefacts'), 12_345, 12_345)
    expectRefusal(await start(), 2, 'another user', '12345')
  })

  it('for a state directory that cannot be made or written', async () => {
    const exit = await runServe(['--port', '0', '--registry-dir', '/proc/service-cli'])
    expectRefusal(exit, 1, '/proc/service-cli cannot be made or written', '--registry-dir')
    // Root can write everywhere else.
    if (isRoot) return
    await mkdir(join(folder, 'own'), { mode: 0o500 })
    expectRefusal(await start(), 1, 'cannot be made or written', '--registry-dir')
  })

  it('with 2 for another address than loopback without a key', async () => {
    for (const host of ['0.0.0.0', '::', '192.0.2.1', 'studio.example']) {
      const exit = await start(['--host', host])
      expectRefusal(exit, 2, 'SERVICE_MCP_API_KEY', '--api-key-file', '--allow-unauthenticated')
    }
    expectRefusal(await start(['--host', '0.0.0.0'], { SERVICE_MCP_API_KEY: '' }), 2)
  })

  it('for a secret file that others can read, naming no secret', async () => {
    const file = join(folder, 'secret')
    await writeFile(file, 'the-secret-itself', { mode: 0o644 })
    for (const flag of ['--host-token-file', '--api-key-file']) {
      const exit = await start([flag, file])
      expectRefusal(exit, 2, file)
      expect(exit.stderr + exit.stdout).not.to.contain('the-secret-itself')
    }
  })

  it('for a key file that is a pipe, without waiting for its writer', async () => {
    const file = join(folder, 'pipe')
    execFileSync('mkfifo', ['-m', '600', file])
    for (const flag of ['--host-token-file', '--api-key-file']) {
      expect((await start([flag, file])).code, flag).to.be.above(0)
    }
  })
})

/** A flag given twice is a mistake of its own. */
function portOf(args: readonly string[]): string[] {
  return args.includes('--port') ? [] : ['--port', '0']
}

function skip(context: Mocha.Context, reason: string): void {
  console.log(`      skipped: ${reason}`)
  context.skip()
}
