import { expect } from 'chai'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runCommand } from '../helpers/in-process.ts'
import { LinkClient } from '../helpers/link.ts'
import { cleanEnv } from '../helpers/program.ts'
import { skipBecause } from '../helpers/skip.ts'
import { until } from '../helpers/until.ts'
import { gatewayInProcess, serveInProcess } from '../helpers/in-process-servers.ts'

describe('service-cli doctor', () => {
  let home: string
  let registryDir: string

  beforeEach(async () => {
    home = await mkdtemp(join(tmpdir(), 'cli-doctor-'))
    registryDir = join(home, 'registry')
  })
  afterEach(() => rm(home, { recursive: true, force: true }))

  function doctor(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
    const own = { HOME: home, SERVICE_REGISTRY_DIR: registryDir, ...env }
    return runCommand(['doctor', ...args], { env: cleanEnv(own) })
  }

  const byName = (stdout: string): Record<string, any> =>
    Object.fromEntries(JSON.parse(stdout).checks.map((check: any) => [check.check, check]))

  it('finds a machine in order where nothing was ever started, and sends a change all the way', async () => {
    const { code, stdout, stderr } = await doctor(['--json'])
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' })
    expect(JSON.parse(stdout).ok).to.equal(true)
    const checks = byName(stdout)
    for (const name of ['node', 'registry_dir', 'config_file', 'instances', 'records', 'push']) {
      expect(checks[name]?.status, name).to.equal('ok')
    }
    expect(checks.push.summary).to.match(/in [\d.]+ ms$/)
    expect(Object.keys(checks)).to.include.members(['port_8765', 'port_9765', 'port_8780'])
  })

  it('tries every live instance with the key, and shows the key to nobody', async () => {
    const key = 'the-key-of-the-studio'
    const serve = await serveInProcess({ registryDir, env: { SERVICE_MCP_API_KEY: key } })
    try {
      const name = `instance_${serve.instanceId.slice(0, 8)}`
      const without = await doctor(['--json'])
      expect(byName(without.stdout)[name].summary).to.contain('requires a key')
      const { code, stdout, stderr } = await doctor([], { SERVICE_MCP_API_KEY: key })
      expect(code, stderr).to.equal(0)
      expect(stdout).to.contain('sessions and subscriptions work')
      expect(stdout).to.contain('SERVICE_MCP_API_KEY is set')
      for (const text of [without.stdout, without.stderr, stdout, stderr]) {
        expect(text).not.to.contain(key).and.not.contain(serve.token)
      }
    } finally {
      await serve.stop()
    }
  })

  it('says whether servers require a key, and that none starts after the last was revoked', async () => {
    const env = cleanEnv({ HOME: home, SERVICE_REGISTRY_DIR: registryDir })
    const keys = (...args: string[]) => runCommand(['keys', ...args], { env })
    const found = async () => byName((await doctor(['--json'])).stdout).keys
    expect(await found()).to.include({
      status: 'ok',
      summary: 'servers start without authentication: no key is configured',
    })
    await keys('create', 'anna')
    expect((await found()).summary).to.match(/^servers require a key \(.*keys\.json\)$/)
    await keys('revoke', 'anna')
    const { status, summary, hint } = await found()
    expect([status, summary]).to.deep.equal([
      'warn',
      `serve does not start: clients need a key, but no key exists in ${home}/.config/service-cli/keys.json`,
    ])
    expect(hint).to.contain('keys create').and.contain('--auth none')
    const serve = await runCommand(['serve', '--port', '0'], { env })
    expect(serve.stderr).to.contain('clients need a key, but no key exists in')
  })

  it('asks an instance whose record is stale, and blames the record, not the server', async () => {
    const serve = await serveInProcess({ registryDir, flags: ['--bound=heartbeatMs=1000000'] })
    try {
      const old = new Date(Date.now() - 120_000)
      await utimes(join(registryDir, 'instances', `${serve.instanceId}.json`), old, old)
      const { code, stdout } = await doctor(['--json'])
      expect(code).to.equal(0)
      const checks = byName(stdout)
      expect(checks[`instance_${serve.instanceId.slice(0, 8)}`].status).to.equal('ok')
      expect(checks.instances.summary).to.equal('1 instance with a stale record')
      expect(checks.instances.details[0]).to.contain('answers, but its record is stale')
      expect(checks.instances.hint).to.contain('make the state directory writable')
    } finally {
      await serve.stop()
    }
  })

  it('says that the application of an instance is gone, and whose process is whose', async () => {
    const serve = await serveInProcess({ registryDir, flags: ['--dcc-type=blender'] })
    const application = await LinkClient.connect(serve)
    const id = serve.instanceId.slice(0, 8)
    try {
      const shown = async () => {
        const { instances, blender } = byName((await doctor(['--json'])).stdout)
        return { blender, ...instances }
      }
      await until(async () => (await shown()).details[0].includes('process 4711'), 'the connection')
      application.ws.terminate()
      await until(async () => (await shown()).status === 'warn', 'the warning')
      const { summary, details, hint, blender } = await shown()
      expect(summary).to.equal('1 instance without application')
      expect(details[0]).to.contain(`(${id}), process ${process.pid}, runs; application gone since`)
      expect(hint).to.contain('open the application again and press Connect')
      expect(blender.hint).to.equal(null)
    } finally {
      await serve.stop()
    }
  })

  it('warns while the connected application shares no scene', async () => {
    const serve = await serveInProcess({ registryDir, flags: ['--dcc-type=blender'] })
    const application = await LinkClient.connect(serve)
    try {
      const shown = async () =>
        byName((await doctor(['--json'])).stdout)[`instance_${serve.instanceId.slice(0, 8)}`]
      for (const scene of [undefined, { objects: [] }, null]) {
        if (scene !== undefined) await application.done({ type: 'scene.set', scene })
        const { status, summary, hint } = await shown()
        const unshared = [status, summary.includes('shares no scene'), hint?.includes('in Blender')]
        expect(unshared).to.deep.equal(scene ? ['ok', false, undefined] : ['warn', true, true])
      }
    } finally {
      application.ws.terminate()
      await serve.stop()
    }
  })

  it('fails for a state directory that cannot be written', async function () {
    await mkdir(registryDir, { mode: 0o700 })
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'ro,mode=700', 'tmpfs', registryDir])
    if (mounted.status !== 0) skipBecause(this, 'mounting a tmpfs needs Linux and root')
    try {
      const { code, stdout } = await doctor([])
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
      const running = byName((await doctor(['--json'])).stdout)
      expect(running[`gateway_${port}`]).to.include({ status: 'ok' })
      expect(running[`gateway_${port}`].summary).to.contain(`answers at http://${host}/mcp`)
      expect(Object.keys(running)).to.include('gateway').and.not.include(`gateway_${silentPort}`)
      await gateway.stop()
      await writeFile(file, dead)
      const killed = byName((await doctor(['--json'])).stdout)
      expect(Object.keys(killed)).not.to.include(`gateway_${port}`)
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
    const { code, stdout } = await doctor([])
    expect(code).to.equal(1)
    expect(stdout).to.contain(`chmod 700 ${registryDir}`)
    expect(stdout).to.contain(`chmod 600 ${join(config, 'config.toml')}`)
    expect(stdout).to.match(/\d+ checks: 2 failed/)
    expect(stdout).not.to.contain(secret)
  })
})
