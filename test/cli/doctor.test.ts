import { expect } from 'chai'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checkInstance, checkOwnPush } from '../../src/commands/doctor/check-push.ts'
import { gatewayInProcess, serveInProcess } from '../helpers/in-process-servers.ts'
import { runCommand } from '../helpers/in-process.ts'
import { LinkClient } from '../helpers/link.ts'
import { startServer } from '../helpers/mcp.ts'
import { cleanEnv } from '../helpers/program.ts'
import type { RunningServe } from '../helpers/serve-process.ts'
import { skipBecause } from '../helpers/skip.ts'
import { until } from '../helpers/until.ts'

let home: string
let registryDir: string
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'cli-doctor-'))
  registryDir = join(home, 'registry')
})
afterEach(() => rm(home, { recursive: true, force: true }))

const envOf = (extra: NodeJS.ProcessEnv = {}) =>
  cleanEnv({ HOME: home, SERVICE_REGISTRY_DIR: registryDir, ...extra })

const doctor = (args: string[] = [], env: NodeJS.ProcessEnv = {}) =>
  runCommand(['doctor', ...args], { env: envOf(env) })

/** The findings by their names. */
async function findings(): Promise<Record<string, any>> {
  const { checks } = JSON.parse((await doctor(['--json'])).stdout)
  return Object.fromEntries(checks.map((check: any) => [check.check, check]))
}

const nameOf = ({ instanceId }: RunningServe) => `instance_${instanceId.slice(0, 8)}`

describe('service-cli doctor', () => {
  let serve: RunningServe | undefined
  afterEach(async () => {
    await serve?.stop()
    serve = undefined
  })

  async function start(flags: string[] = [], env: Record<string, string> = {}) {
    serve = await serveInProcess({ registryDir, flags, env })
    return serve
  }

  it('finds a machine in order where nothing was ever started, and sends a change all the way', async () => {
    const { code, stderr } = await doctor(['--json'])
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' })
    const checks = await findings()
    for (const name of ['node', 'registry_dir', 'config_file', 'instances', 'records', 'push']) {
      expect(checks[name]?.status, name).to.equal('ok')
    }
    expect(checks.push.summary).to.match(/in [\d.]+ ms$/)
    expect(Object.keys(checks)).to.include.members(['port_8765', 'port_9765', 'port_8780'])
  })

  it('tries every live instance with the key, and shows the key to nobody', async () => {
    const key = 'the-key-of-the-studio'
    const { token } = await start([], { SERVICE_MCP_API_KEY: key })
    const without = await doctor()
    expect(without.stdout, "by the owner's token").to.contain('subscriptions work')
    const wrong = await doctor([], { SERVICE_MCP_API_KEY: 'another-key' })
    expect(wrong.stdout).to.contain('refuses the key in SERVICE_MCP_API_KEY')
    const right = await doctor([], { SERVICE_MCP_API_KEY: key })
    expect(right.code, right.stderr).to.equal(0)
    expect(right.stdout).to.contain('subscriptions work')
    expect(right.stdout).to.contain('SERVICE_MCP_API_KEY is set')
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
    const checks = await findings()
    expect(checks[nameOf(running)].status).to.equal('ok')
    expect(checks.instances.summary).to.equal('1 instance with a stale record')
    expect(checks.instances.details[0]).to.contain('answers, but its record is stale')
    expect(checks.instances.hint).to.contain('make the state directory writable')
  })

  it('says that the application shares no scene, or is gone, and whose process is whose', async () => {
    const running = await start(['--dcc-type=blender'])
    const application = await LinkClient.connect(running)
    const connected = async () => (await findings()).instances.details[0].includes('process 4711')
    await until(connected, 'the connection')
    const unshared = (await findings())[nameOf(running)]
    expect(unshared.status).to.equal('warn')
    expect(unshared.summary).to.contain('shares no scene')
    expect(unshared.hint).to.contain('in Blender')
    await application.done({ type: 'scene.set', scene: { objects: [] } })
    expect((await findings())[nameOf(running)].status).to.equal('ok')
    application.ws.terminate()
    await until(async () => (await findings()).instances.status === 'warn', 'the warning')
    const { instances, blender } = await findings()
    expect(instances.summary).to.equal('1 instance without application')
    expect(instances.details[0]).to.contain(`process ${process.pid}, runs; application gone since`)
    expect(instances.hint).to.contain('open the application again and press Connect')
    expect(blender.hint).to.equal(null)
  })

  it('fails for a state directory that cannot be written', async function () {
    await mkdir(registryDir, { mode: 0o700 })
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'ro,mode=700', 'tmpfs', registryDir])
    if (mounted.status !== 0) skipBecause(this, 'mounting a tmpfs needs Linux and root')
    try {
      const { code, stdout } = await doctor()
      expect(code).to.equal(1)
      expect(stdout).to.contain(`${registryDir} is not writable (EROFS)`)
    } finally {
      spawnSync('umount', [registryDir])
    }
  })

  it('finds a gateway on any port, and none that was killed', async () => {
    const silent = createServer().listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const { port: silentPort } = silent.address() as AddressInfo
    const gateway = gatewayInProcess({ port: 0, registryDir })
    try {
      const { port, host } = new URL((await gateway.line('listening')).url)
      const file = join(registryDir, `gateway-${port}.json`)
      const left = JSON.parse(await readFile(file, 'utf8'))
      // Of one that was killed, whose port somebody has who answers nothing.
      const dead = JSON.stringify({ ...left, pid: 4_194_305 })
      await writeFile(join(registryDir, `gateway-${silentPort}.json`), dead)
      const running = await findings()
      expect(running[`gateway_${port}`]).to.include({ status: 'ok' })
      expect(running[`gateway_${port}`].summary).to.contain(`answers at http://${host}/mcp`)
      expect(Object.keys(running)).to.include('gateway').and.not.include(`gateway_${silentPort}`)
      await gateway.stop()
      await writeFile(file, dead)
      expect(Object.keys(await findings())).not.to.include(`gateway_${port}`)
    } finally {
      silent.close()
      await gateway.stop()
    }
  })

  it('fails for a folder that others can enter, and a login that others can read', async () => {
    await mkdir(registryDir, { mode: 0o755 })
    await chmod(registryDir, 0o755)
    const config = join(home, '.config', 'service-cli')
    await mkdir(config, { recursive: true, mode: 0o700 })
    const secret = 'the-token-that-nobody-sees'
    await writeFile(join(config, 'config.toml'), `access_token = "${secret}"\n`)
    await chmod(join(config, 'config.toml'), 0o644)
    const { code, stdout } = await doctor()
    expect(code).to.equal(1)
    expect(stdout).to.contain(`chmod 700 ${registryDir}`)
    expect(stdout).to.contain(`chmod 600 ${join(config, 'config.toml')}`)
    expect(stdout).to.match(/\d+ checks: 2 failed/)
    expect(stdout).not.to.contain(secret)
    await chmod(join(config, 'config.toml'), 0o600)
    await writeFile(join(config, 'config.toml'), 'this is [ not toml\n')
    expect((await doctor()).stdout).to.contain('config.toml:1:')
  })
})

describe('the check of push', () => {
  const instance = { shortId: 'abcd1234', name: 'Blender', loopback: true }

  it('fails where no server can be started, and where no update comes', async () => {
    const none = await checkOwnPush(() => Promise.reject(new Error('no sockets')))
    expect(none.status).to.equal('fail')
    expect(none.summary).to.contain('no sockets')
    const { url, stop } = await startServer()
    let stops = 0
    const mute = { url, setScene: () => {}, stop: () => stop().then(() => void stops++) }
    const silent = await checkOwnPush(() => Promise.resolve(mute), 300)
    expect(silent.status).to.equal('fail')
    expect(silent.summary).to.contain('nothing came within')
    expect(stops).to.equal(1)
  })

  it('leaves no session behind at an instance', async () => {
    const server = await startServer({ limits: { maxSessions: 1 } })
    for (let time = 0; time < 3; time++) {
      const finding = await checkInstance({ ...instance, url: server.url }, null)
      expect(finding, finding.summary).to.include({ status: 'ok', check: 'instance_abcd1234' })
    }
    await server.stop()
    const gone = await checkInstance({ ...instance, url: server.url }, null)
    expect(gone.status).to.equal('fail')
  })

  it('sends no key to a server that asks for none', async () => {
    const sent: [path: string | undefined, key: string | undefined][] = []
    const recorder = createHttpServer((req, res) => {
      sent.push([req.url, req.headers.authorization])
      res.writeHead(req.url === '/readyz' ? 200 : 500).end()
    }).listen(0, '127.0.0.1')
    await once(recorder, 'listening')
    const url = `http://127.0.0.1:${(recorder.address() as AddressInfo).port}/mcp`
    const { status } = await checkInstance({ ...instance, url }, 'the-key')
    recorder.closeAllConnections()
    recorder.close()
    expect(status).to.equal('fail')
    expect(sent.map(String)).to.deep.equal(['/readyz,', '/mcp,'])
  })
})
