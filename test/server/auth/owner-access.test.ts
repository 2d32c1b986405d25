import { expect } from 'chai'
import { chmod, chown, readFile, stat } from 'node:fs/promises'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { gatewayInProcess, serveInProcess } from '../../helpers/in-process-servers.ts'
import { runCommand } from '../../helpers/in-process.ts'
import { bearer } from '../../helpers/keyed-server.ts'
import { initialize } from '../../helpers/mcp.ts'
import { cleanEnv } from '../../helpers/program.ts'
import type { RunningServe } from '../../helpers/serve-process.ts'
import { skipBecause } from '../../helpers/skip.ts'
import { newFolder } from '../../helpers/cleanup.ts'

const folder = newFolder()

const key = 'the-key-of-clients-of-the-server'

describe("the owner's commands on a server with a key", () => {
  let serve: RunningServe
  let file: string
  let token: string

  before(async () => {
    const env = { SERVICE_MCP_API_KEY: key }
    const flags = ['--host', '0.0.0.0', '--allowed-origin', 'https://studio.example']
    serve = await serveInProcess({ registryDir: folder, env, flags })
    await serve.post('scene', { shot: 42 })
    file = join(folder, 'instances', `${serve.instanceId}.owner`)
    token = await readFile(file, 'utf8')
  })

  const run = (words: string[], env: NodeJS.ProcessEnv = {}) =>
    runCommand(words, { env: cleanEnv({ HOME: folder, SERVICE_REGISTRY_DIR: folder, ...env }) })
  const open = async (headers: Record<string, string>, url = serve.url) =>
    (await initialize(url, headers)).status

  it('work without a key, and with an address', async () => {
    const scene = await run(['resources', 'read', 'scene://current'])
    expect(scene.stdout, scene.stderr).to.contain('"shot":42')
    const byUrl = await run(['resources', 'list', '--url', serve.url])
    expect(byUrl.stdout, byUrl.stderr).to.contain('scene://current')
    expect((await run(['notes', 'list'])).code).to.equal(0)
    expect((await run(['artefacts', 'list'])).code).to.equal(0)
    const checks = JSON.parse((await run(['doctor', '--json'])).stdout).checks as any[]
    const own = checks.find(({ check }) => check.startsWith('instance_'))
    expect(own.summary).to.contain('answers in').and.not.contain('requires a key')
  })

  it('have a token in a file of the owner alone, which is not in the record', async () => {
    expect(token).to.match(/^own_[A-Za-z0-9_-]{43}$/)
    expect((await stat(file)).mode & 0o777).to.equal(0o600)
    expect(await readFile(file.replace(/owner$/, 'json'), 'utf8')).not.to.contain(token)
    expect(serve.output().stderr).not.to.contain(token)
  })

  it('are known by a token that counts from this machine, from no page and no proxy', async () => {
    expect(await open(bearer(token))).to.equal(200)
    const refused: Record<string, string>[] = [
      bearer(`${token}x`),
      bearer('own_'),
      { ...bearer(token), Origin: 'https://studio.example' },
      { ...bearer(token), Origin: new URL(serve.url).origin },
      { ...bearer(token), Forwarded: 'for=192.0.2.1' },
      { ...bearer(token), 'X-Forwarded-For': '127.0.0.1' },
      { ...bearer(token), 'X-Forwarded-Host': 'studio.example' },
    ]
    for (const headers of refused) {
      expect(await open(headers), JSON.stringify(Object.keys(headers))).to.equal(401)
    }
  })

  it('are known by a token that does not count over the network', async function () {
    const all = Object.values(networkInterfaces()).flatMap(list => list ?? [])
    const outer = all.find(({ internal, family }) => !internal && family === 'IPv4')
    if (outer === undefined) skipBecause(this, 'this machine has no address but loopback')
    const url = serve.url.replace('127.0.0.1', outer.address)
    expect(await open(bearer(key), url)).to.equal(200)
    expect(await open(bearer(token), url)).to.equal(401)
  })

  it('send no token from a file that others can read, or of another account', async () => {
    const list = async () => (await run(['resources', 'list'])).stderr
    await chmod(file, 0o644)
    expect(await list()).to.contain('requires a key')
    await chmod(file, 0o600)
    if (process.getuid?.() === 0) {
      await chown(file, 65_534, 65_534)
      expect(await list()).to.contain('requires a key')
      await chown(file, 0, 0)
    }
    expect(await list()).to.equal('')
  })

  it('find no file after the server has stopped', async () => {
    const other = await serveInProcess({ registryDir: folder, env: { SERVICE_MCP_API_KEY: key } })
    const own = join(folder, 'instances', `${other.instanceId}.owner`)
    expect((await stat(own)).isFile()).to.equal(true)
    await other.stop()
    expect(await stat(own).catch(() => null)).to.equal(null)
  })

  it('work on a gateway, too', async () => {
    const gateway = gatewayInProcess({
      port: 0,
      registryDir: folder,
      env: { SERVICE_MCP_API_KEY: key },
    })
    const { url } = await gateway.line('listening')
    const found = await run(['resources', 'list', '--instance', 'gateway'])
    expect(found.stdout, found.stderr).to.contain('gateway://instances')
    const named = await run(['resources', 'list', '--url', String(url)])
    expect(named.stdout, named.stderr).to.contain('gateway://instances')
    const own = join(folder, `gateway-${new URL(String(url)).port}.owner`)
    expect((await stat(own)).mode & 0o777).to.equal(0o600)
  })
})
