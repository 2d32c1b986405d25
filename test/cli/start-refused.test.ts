import { expect } from 'chai'
import { mkdir, readdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { newFolder } from '../helpers/cleanup.ts'
import { serveInProcess } from '../helpers/in-process-servers.ts'
import type { Ended } from '../helpers/program.ts'
import { runServe } from '../helpers/serve-process.ts'

describe('a start of serve is refused', () => {
  let folder: string
  let own: string
  beforeEach(() => {
    folder = newFolder()
    own = join(folder, 'own')
  })

  const start = (args: string[] = []) => {
    const port = args.includes('--port') ? [] : ['--port', '0']
    return runServe(['--registry-dir', own, ...port, ...args])
  }

  function expectRefusal(exit: Ended, code: number, ...words: string[]): void {
    expect(exit.code, exit.stderr).to.equal(code)
    expect(exit.stdout).to.equal('')
    for (const word of words) expect(exit.stderr).to.contain(word)
    expect(exit.stderr).not.to.match(/file:\/\/|\n\s+at /)
  }

  it('for a port that is in use, with --port 0', async () => {
    const first = await serveInProcess()
    const port = ['--port', String(first.port)]
    expectRefusal(await start(port), 1, `port ${first.port} on 127.0.0.1 is in use`, '--port 0')
    // What the failed start made is gone, what the first one made is not.
    expect(await readdir(join(own, 'instances'))).to.deep.equal([])
    expectRefusal(await runServe([...port, '--registry-dir', first.registryDir]), 1)
    const left = await readdir(join(first.registryDir, 'instances'))
    const names = ['json', 'owner', 'token'].map(end => `${first.instanceId}.${end}`)
    expect(left).to.have.members(names)
  })

  it('for an address that is not of this machine', async () => {
    const exit = await start(['--host', '192.0.2.1', '--allow-unauthenticated'])
    expectRefusal(exit, 1, '192.0.2.1', '--host')
  })

  it('for an artefact folder that is a symbolic link', async () => {
    await mkdir(join(folder, 'real'), { mode: 0o700 })
    await mkdir(own, { mode: 0o700 })
    await symlink('../real', join(own, 'dcc-mcp-artefacts'))
    expectRefusal(await start(), 2, 'symbolic link')
    expect(await readdir(join(folder, 'real'))).to.deep.equal([])
  })
})
