import { expect } from 'chai'
import { chmod, mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { newFolder } from '../helpers/cleanup.ts'
import { expectEnd, runCommand } from '../helpers/in-process.ts'
import { PageBrowser, useLink } from '../helpers/page.ts'
import { cleanEnv } from '../helpers/program.ts'
import { skipBecause } from '../helpers/skip.ts'
import { until } from '../helpers/until.ts'
import { serveInProcess } from '../helpers/in-process-servers.ts'
import type { RunningServe } from '../helpers/serve-process.ts'

describe('service-cli page', () => {
  let home: string
  let serve: RunningServe

  before(async () => {
    home = newFolder()
    serve = await serveInProcess({ registryDir: home })
  })

  const run = (words: string[] = [], extra: NodeJS.ProcessEnv = {}) =>
    runCommand(['page', ...words], {
      env: cleanEnv({ HOME: home, SERVICE_REGISTRY_DIR: home, ...extra }),
    })

  /** A program of this name that writes down what it gets, in a folder for PATH. */
  async function opener(body: string): Promise<string> {
    const folder = await mkdtemp(join(home, 'path-'))
    await writeFile(join(folder, 'xdg-open'), `#!/bin/sh\n${body}\n`)
    await chmod(join(folder, 'xdg-open'), 0o755)
    return folder
  }

  it('prints a fresh link of the only running server, alone on stdout or as JSON', async () => {
    const { code, stdout, stderr } = await run()
    expect([code, stderr]).to.deep.equal([0, ''])
    expect(stdout).to.match(new RegExp(`^${serve.base}/#login=[\\w-]{43}\\n$`))
    const own = new PageBrowser(serve.base, await useLink(serve.base, stdout.trim()))
    expect(await own.isLoggedIn()).to.equal(true)
    const { url, ...rest } = JSON.parse((await run(['--json'])).stdout)
    expect(rest).to.deep.equal({ expires_in: 300 })
    expect(`${url}\n`).not.to.equal(stdout)
    expect((await useLink(serve.base, url)).status).to.equal(200)
  })

  it('opens it in the browser with --open, and does not print it', async function () {
    if (process.platform !== 'linux') skipBecause(this, 'needs Linux')
    const folder = await opener(`printf '%s\\n' "$#" "$@" > ${home}/opened`)
    const { code, stdout } = await run(['--open'], { PATH: `${folder}:${process.env.PATH}` })
    expect([code, stdout]).to.deep.equal([0, `opened ${serve.base}/\n`])
    const opened = () => readFile(`${home}/opened`, 'utf8')
    await until(async () => (await opened()).endsWith('\n'), 'the browser')
    const [count, link = ''] = (await opened()).split('\n')
    expect(count).to.equal('1')
    expect((await useLink(serve.base, link)).status).to.equal(200)
  })

  it('says how to go on when no browser can be opened', async function () {
    if (process.platform !== 'linux') skipBecause(this, 'needs Linux')
    const failing = await run(['--open'], { PATH: await opener('exit 3') })
    expect(failing.code).not.to.equal(0)
    expect(failing.stderr).to.contain('xdg-open ended with 3').and.contain('without --open')
    const none = await run(['--open'], { PATH: home })
    expect(none.stderr).to.contain('xdg-open: ENOENT').and.contain('without --open')
    expect(failing.stderr + none.stderr).not.to.contain('#login')
  })

  it('chooses one of several servers as other commands do, and refuses --url', async () => {
    const flags = ['--dcc-type', 'blender', '--no-page']
    await serveInProcess({ registryDir: home, flags })
    expectEnd(await run(), 2, '--instance ID')
    const named = await run(['--instance', serve.instanceId.slice(0, 8)])
    expect(named.stdout).to.contain(serve.base)
    const off = await run(['--dcc-type', 'blender'])
    expect(off.code).not.to.equal(0)
    expect(off.stderr).to.contain('the page is switched off').and.contain('--no-page')
    expect((await run(['--url', serve.url])).code).to.equal(2)
  })

  it('uses the server of SERVICE_HOST_URL with its token', async () => {
    const { stdout } = await run([], {
      SERVICE_REGISTRY_DIR: join(home, 'empty'),
      SERVICE_HOST_URL: serve.hostUrl,
      SERVICE_HOST_TOKEN: serve.token,
    })
    expect(stdout).to.contain(`${serve.base}/#login=`)
  })
})
