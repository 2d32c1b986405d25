import { expect } from 'chai'
import { spawn } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { serveInProcess } from '../helpers/in-process-servers.ts'
import { exitOf, root, textOf } from '../helpers/program.ts'
import { skipBecause } from '../helpers/skip.ts'

describe('service-cli for a uid without a passwd entry', () => {
  /** Not given by any system. */
  const uid = 54_321
  let folder: string

  before(function () {
    if (process.getuid?.() !== 0) skipBecause(this, 'only root can start programs as another uid')
    folder = mkdtempSync(join(tmpdir(), 'no-passwd-'))
    chmodSync(folder, 0o777)
  })

  after(() => folder && rmSync(folder, { recursive: true, force: true }))

  async function run(args: readonly string[], env: NodeJS.ProcessEnv) {
    const child = spawn(process.execPath, ['bin/run.js', ...args], {
      cwd: root,
      env: { PATH: process.env.PATH, ...env },
      uid,
      gid: uid,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const [stdout, stderr, code] = await Promise.all([
      textOf(child.stdout),
      textOf(child.stderr),
      exitOf(child),
    ])
    return { code, stdout, stderr }
  }

  it('runs commands without SHELL', async () => {
    const { code, stderr } = await run(['whoami'], {
      HOME: folder,
      SERVICE_REGISTRY: 'http://127.0.0.1:1',
    })
    expect(code, stderr).to.equal(4)
    const listed = await run(['instances', '--json'], { HOME: folder, TMPDIR: folder })
    expect(listed.stderr).not.to.contain('passwd')
    expect(JSON.parse(listed.stdout).list_ok).to.equal(true)
    expect((await run(['--help'], { HOME: folder })).code).to.equal(0)
  })

  it('asks for HOME where a file of the user is needed, and only there', async () => {
    const { code, stderr } = await run(['whoami'], {})
    expect(code, stderr).to.equal(2)
    expect(stderr).to.contain('set HOME')
    const listed = await run(['instances', '--json'], { TMPDIR: folder })
    expect(JSON.parse(listed.stdout).list_ok, listed.stderr).to.equal(true)
  })

  it('names the author of notes and checkpoints by the uid', async () => {
    const serve = await serveInProcess()
    try {
      await serve.post('app', { document: { path: '/shots/uid.blend' } })
      await serve.post('scene', { objects: [] })
      const { hostUrl, token } = serve
      const env = { HOME: folder, SERVICE_HOST_URL: hostUrl, SERVICE_HOST_TOKEN: token }
      const note = await run(['notes', 'add', 'Too bright', '--json'], env)
      expect(note.code, note.stderr).to.equal(0)
      expect(JSON.parse(note.stdout).author).to.equal(`uid ${uid}`)
      const kept = await run(['checkpoint', 'first', '--json'], env)
      expect(kept.code, kept.stderr).to.equal(0)
    } finally {
      await serve.stop()
    }
  })
})
