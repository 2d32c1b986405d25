import { expect } from 'chai'
import { randomUUID } from 'node:crypto'
import { chmod, mkdir, utimes, writeFile } from 'node:fs/promises'
import { createServer as createHttpServer } from 'node:http'
import { createServer as createHttpsServer, type Server as HttpsServer } from 'node:https'
import { join } from 'node:path'
import { newFolder } from '../helpers/cleanup.ts'
import { makePair, trust } from '../helpers/certificate.ts'
import { serveInProcess } from '../helpers/in-process-servers.ts'
import { runCommand } from '../helpers/in-process.ts'
import { startScriptedInstance, writeInstance } from '../helpers/instances.ts'
import { LinkClient } from '../helpers/link.ts'
import { cleanEnv } from '../helpers/program.ts'
import { acceptLinks } from '../helpers/join.ts'
import type { RunningServe } from '../helpers/serve-process.ts'
import { until } from '../helpers/until.ts'
import { listening } from '../helpers/listening.ts'

let home: string
let registryDir: string
beforeEach(() => {
  home = newFolder()
  registryDir = join(home, 'registry')
})

const envOf = (extra: NodeJS.ProcessEnv = {}) =>
  cleanEnv({ HOME: home, SERVICE_REGISTRY_DIR: registryDir, ...extra })

const doctor = (args: string[] = [], env: NodeJS.ProcessEnv = {}) =>
  runCommand(['doctor', ...args], { env: envOf(env) })

/** The findings by their names. */
async function findings(env: NodeJS.ProcessEnv = {}): Promise<Record<string, any>> {
  const { checks } = JSON.parse((await doctor(['--json'], env)).stdout)
  return Object.fromEntries(checks.map((check: any) => [check.check, check]))
}

const nameOf = ({ instanceId }: RunningServe) => `instance_${instanceId.slice(0, 8)}`

describe('service-cli doctor', () => {
  const start = (flags: string[] = [], env: Record<string, string> = {}) =>
    serveInProcess({ registryDir, flags, env })

  it('finds a machine in order where nothing was ever started', async () => {
    const { code, stderr } = await doctor(['--json'])
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' })
    const checks = await findings()
    for (const name of ['node', 'registry_dir', 'keys', 'instances']) {
      expect(checks[name]?.status, name).to.equal('ok')
    }
  })

  it('tries every live instance with the key, and shows the key to nobody', async () => {
    const key = 'the-key-of-the-studio'
    const { token } = await start([], { SERVICE_MCP_API_KEY: key })
    const without = await doctor()
    expect(without.stdout, "by the owner's token").to.contain('no application has connected yet')
    const wrong = await doctor([], { SERVICE_MCP_API_KEY: 'another-key' })
    expect(wrong.stdout).to.contain('refuses the key in SERVICE_MCP_API_KEY')
    const right = await doctor([], { SERVICE_MCP_API_KEY: key })
    expect(right.code, right.stderr).to.equal(0)
    expect(right.stdout).to.contain('no application has connected yet')
    for (const { stdout, stderr } of [without, wrong, right]) {
      expect(stdout + stderr)
        .not.to.contain(key)
        .and.not.contain(token)
    }
  })

  it('says whether servers require a key, and that they refuse all after the last was revoked', async () => {
    const keys = (...args: string[]) => runCommand(['keys', ...args], { env: envOf() })
    const open = 'servers start without authentication: no key is configured'
    expect((await findings()).keys).to.include({ status: 'ok', summary: open })
    await keys('create', 'anna')
    expect((await findings()).keys.summary).to.match(/^servers require a key \(.*keys\.json\)$/)
    await keys('revoke', 'anna', '--yes')
    const { status, summary, hint } = (await findings()).keys
    const path = `${home}/.config/service-cli/client-keys.json`
    const closed = `servers refuse every client: there is no key in ${path}`
    expect([status, summary]).to.deep.equal(['warn', closed])
    expect(hint).to.contain('keys create').and.contain('keys off')
    await keys('off')
    expect((await findings()).keys).to.include({ status: 'ok', summary: open })
  })

  it('asks an instance whose record is stale, and blames the record, not the server', async () => {
    const running = await start(['--bound=heartbeatMs=1000000'])
    const old = new Date(Date.now() - 120_000)
    await utimes(join(registryDir, 'instances', `${running.instanceId}.json`), old, old)
    const { status, summary, hint } = (await findings())[nameOf(running)]
    expect(status).to.equal('warn')
    expect(summary).to.contain('but its record is stale')
    expect(hint).to.contain('make the state directory writable')
  })

  it('says why the scene file of an instance is not used', async () => {
    const running = await start(['--scene-file', join(home, 'none.json')])
    const instance = async () => (await findings())[nameOf(running)]
    await until(async () => (await instance()).status === 'warn', 'the warning')
    expect((await instance()).summary).to.contain('but its scene file is missing')
  })

  it('says that the application shares no scene, or is gone, and whose process is whose', async () => {
    const running = await start(['--dcc-type=blender'])
    const instance = async () => (await findings())[nameOf(running)]
    expect((await instance()).summary).to.contain('no application has connected yet')
    const application = await LinkClient.connect(running)
    await until(async () => (await instance()).status === 'warn', 'the connection')
    const unshared = await instance()
    expect(unshared.summary).to.contain('shares no scene')
    expect(unshared.hint).to.contain('in Blender')
    await application.done({ type: 'scene.set', scene: { objects: [] } })
    const { status, summary } = await instance()
    expect(status).to.equal('ok')
    expect(summary).to.contain(`process ${process.pid}, answers`).and.contain(', process 4711, is')
    application.ws.terminate()
    await until(async () => (await instance()).status === 'warn', 'the warning')
    const gone = await instance()
    expect(gone.summary).to.contain('application gone since')
    expect(gone.hint).to.contain('open the application again and press Connect')
    expect((await findings()).blender).to.include({ status: 'ok', hint: null })
  })

  it('fails for an instance that hangs or is not ready, and warns of an invalid record', async () => {
    await mkdir(registryDir, { mode: 0o700 })
    const mute = await startScriptedInstance(registryDir)
    mute.status = 503
    await writeFile(join(registryDir, 'instances', `${randomUUID()}.json`), '{}')
    const checks = await findings()
    await mute.stop()
    const { status, summary, hint } = checks[`instance_${mute.instanceId.slice(0, 8)}`]
    expect(status).to.equal('fail')
    expect(summary).to.contain('does not serve: /readyz answered 503')
    expect(hint).to.contain(`end process ${process.pid}`)
    expect(checks.instances).to.include({ status: 'warn', summary: '1 invalid instance record' })
    expect(checks.instances.details).to.have.length(1)
  })

  it('looks for what connects Blender where there is Blender and no connection', async () => {
    expect((await findings({ PATH: home })).blender.summary).to.equal('Blender is not in PATH')
    await writeFile(join(home, 'blender'), '', { mode: 0o755 })
    const { status, summary, hint } = (await findings({ PATH: home })).blender
    expect(status).to.equal('warn')
    expect(summary).to.contain(join(home, 'blender'))
    expect(hint).to.match(/^start a server: service-cli serve --dcc-type blender; then.* Connect/)
    await start()
    const { blender } = await findings({ PATH: home })
    expect(blender.hint).to.contain('adapter blender').and.not.contain('serve')
  })

  it('says what is not seen in a Wayland session', async () => {
    const { window_capture: check } = await findings({ WAYLAND_DISPLAY: 'wayland-0' })
    expect(check.status).to.equal('warn')
    expect(check.details.join()).to.contain('Wayland').and.contain('Blender add-on')
  })

  it('fails for a state directory that cannot be used', async () => {
    await writeFile(join(home, 'file'), '')
    const { stdout } = await doctor([], { SERVICE_REGISTRY_DIR: join(home, 'file/state') })
    expect(stdout).to.contain('file/state cannot be used (ENOTDIR)')
  })

  it('fails for a folder that others can enter', async () => {
    await mkdir(registryDir, { mode: 0o755 })
    await chmod(registryDir, 0o755)
    const { code, stdout } = await doctor()
    expect(code).to.equal(1)
    expect(stdout).to.contain(`chmod 700 ${registryDir}`)
    expect(stdout).to.match(/\d+ checks: 1 failed/)
  })

  it('sends no key to a server that asks for none', async () => {
    const sent: [path: string | undefined, key: string | undefined][] = []
    const recorder = createHttpServer((req, res) => {
      sent.push([req.url, req.headers.authorization])
      res.writeHead(req.url === '/readyz' ? 200 : 500).end()
    })
    const url = `http://127.0.0.1:${await listening(recorder)}/mcp`
    await mkdir(registryDir, { mode: 0o700 })
    await writeInstance(registryDir, { url })
    const { stdout } = await doctor([], { SERVICE_MCP_API_KEY: 'the-key' })
    expect(stdout).to.contain('does not serve')
    expect(sent.map(String)).to.deep.equal(['/readyz,', '/mcp,'])
  })
})

describe('service-cli doctor, of a joined gateway', () => {
  const pair = makePair()
  let server: HttpsServer
  let host: string
  let status: number | null
  /** The status of `/readyz`. */
  let ready: number
  let tokenFile: string

  beforeEach(async () => {
    status = null
    ready = 200
    server = createHttpsServer(pair, (_req, res) => void res.writeHead(ready).end())
    acceptLinks(server, () => status)
    host = `127.0.0.1:${await listening(server)}`
    tokenFile = join(home, 'join.token')
    await writeFile(tokenFile, 'svc_a-token-of-the-scope-instance\n', { mode: 0o600 })
    const flags = ['--join', `https://${host}`, '--join-token-file', tokenFile]
    await serveInProcess({ registryDir, flags })
  })

  const byGateway = async (...args: string[]) => {
    const { checks } = JSON.parse((await doctor(['--json', ...args])).stdout)
    const named = (kind: string) => checks.find(({ check }: any) => check === `${kind}_${host}`)
    return { address: named('gateway'), token: named('join') }
  }

  it('fails for a certificate that is not trusted, and names the variable', async () => {
    const { address, token } = await byGateway()
    expect(address.status).to.equal('fail')
    expect(address.summary).to.contain('has a certificate that is not accepted: TLS failed (')
    expect(address.hint).to.contain('NODE_EXTRA_CA_CERTS')
    expect(token).to.equal(undefined)
  })

  it('accepts a certificate that is trusted, and tries the token that it is given', async () => {
    trust(pair)
    const { address, token } = await byGateway('--join-token-file', tokenFile)
    expect(address.status).to.equal('ok')
    expect(token.summary).to.match(/accepts the token of serve --join$/)
    status = 401
    const refused = (await byGateway('--join-token-file', tokenFile)).token
    expect(refused.status).to.equal('fail')
    expect(refused.summary).to.contain('cannot be joined: it answers with HTTP 401')
    expect(refused.hint).to.contain('service-cli token create')
    const missing = (await byGateway('--join-token-file', join(home, 'none'))).token
    expect(missing.summary).to.contain('no such file')
    server.closeAllConnections()
    server.close()
    const gone = (await byGateway()).address
    expect(gone.status).to.equal('fail')
    expect(gone.summary).to.contain('cannot be reached: connection refused')
  })

  it('tells one that is not ready from one that is gone', async () => {
    trust(pair)
    ready = 503
    const busy = (await byGateway()).address
    expect(busy).to.include({ status: 'fail' })
    expect(busy.summary).to.match(/is not ready \(HTTP 503\)$/)
    server.closeAllConnections()
    server.close()
    const gone = (await byGateway()).address
    expect(gone).to.include({ status: 'fail' })
    expect(gone.summary).to.contain('cannot be reached: connection refused')
  })
})
