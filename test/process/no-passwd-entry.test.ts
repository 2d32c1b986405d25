import { expect } from 'chai'
import { spawn } from 'node:child_process'
import { chmodSync } from 'node:fs'
import { newFolder } from '../helpers/cleanup.ts'
import { serveInProcess } from '../helpers/in-process-servers.ts'
import { exitOf, root, textOf } from '../helpers/program.ts'
import { skipBecause } from '../helpers/skip.ts'

describe('service-cli for a uid without a passwd entry', () => {
  /** Not given by any system. */
  const uid = 54_321

  it('runs without SHELL, and names the author of a note by the uid', async function () {
    if (process.getuid?.() !== 0) skipBecause(this, 'only root can start programs as another uid')
    const serve = await serveInProcess()
    const folder = newFolder()
    chmodSync(folder, 0o777)
    await serve.post('app', { document: { path: '/shots/uid.blend' } })
    await serve.post('scene', { objects: [] })
    const address = { SERVICE_HOST_URL: serve.hostUrl, SERVICE_HOST_TOKEN: serve.token }
    const args = ['bin/run.js', 'notes', 'add', 'Too bright', '--json']
    const child = spawn(process.execPath, args, {
      cwd: root,
      env: { PATH: process.env.PATH, HOME: folder, ...address },
      uid,
      gid: uid,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const [stdout, stderr, code] = await Promise.all([
      textOf(child.stdout),
      textOf(child.stderr),
      exitOf(child),
    ])
    expect(code, stderr).to.equal(0)
    expect(stderr).not.to.contain('passwd')
    expect(JSON.parse(stdout).author).to.equal(`uid ${uid}`)
  })
})
