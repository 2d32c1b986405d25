import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { silentLogger } from '../../../src/lib/util/logger.ts'
import type { GatewayHandle } from '../../../src/server/gateway/options.ts'
import { startGateway } from '../../../src/server/gateway.ts'
import { bearer, makeKeys, type TestKeys } from '../../helpers/keyed-server.ts'
import { RawSession } from '../../helpers/mcp.ts'
import { runCommand } from '../../helpers/in-process.ts'
import { cleanEnv } from '../../helpers/program.ts'
import { type RunningServe, runServe } from '../../helpers/serve-process.ts'
import { until } from '../../helpers/until.ts'
import { serveInProcess } from '../../helpers/in-process-servers.ts'

/** Is the key good for a new session? */
async function letsIn(url: string, key: string): Promise<boolean> {
  return RawSession.open(url, '2025-11-25', bearer(key)).then(
    () => true,
    () => false,
  )
}

describe('keys made and revoked beside a running server', () => {
  let registryDir: string
  let serve: RunningServe

  before(async () => (registryDir = await mkdtemp(join(tmpdir(), 'named-keys-'))))
  after(async () => {
    await serve?.stop()
    await rm(registryDir, { recursive: true, force: true })
  })

  async function keys(...words: string[]) {
    return runCommand(['keys', ...words], { env: cleanEnv({ HOME: registryDir }) })
  }

  it('are asked for from the first one on, rotated without a restart, and in no output', async () => {
    serve = await serveInProcess({ registryDir })
    const anyone = await RawSession.open(serve.url, '2025-11-25')
    const openStream = await anyone.listen()
    const first = (await keys('create', 'first')).stdout.trim()
    await until(() => openStream.ended, 'the stream of a caller without a key is cut')
    expect(await letsIn(serve.url, 'nonsense')).to.equal(false)
    const session = await RawSession.open(serve.url, '2025-11-25', bearer(first))
    const stream = await session.listen()

    const second = (await keys('create', 'second')).stdout.trim()
    expect(await letsIn(serve.url, second)).to.equal(true)
    expect((await keys('revoke', 'first')).code).to.equal(0)
    await until(() => stream.ended, 'the stream of the revoked key is cut')
    expect(await letsIn(serve.url, first)).to.equal(false)
    expect(await letsIn(serve.url, second)).to.equal(true)

    const { stdout, stderr } = serve.output()
    expect(stderr).to.contain('key:second')
    const kept = await readFile(join(registryDir, '.config/service-cli/keys.json'), 'utf8')
    for (const text of [stdout, stderr, kept]) {
      expect(text).not.to.contain(first)
      expect(text).not.to.contain(second)
    }
  })

  it('and a start without any says how to make one', async () => {
    const { code, stderr } = await runServe(['--auth', 'api-key', '--port', '0'])
    expect(code).to.equal(2)
    expect(stderr).to.contain('run.js keys create')
  })
})

describe('a gateway with named keys', () => {
  let keys: TestKeys
  let gateway: GatewayHandle

  beforeEach(async () => {
    keys = await makeKeys()
    await keys.create('other')
    gateway = await startGateway({
      port: 0,
      host: '127.0.0.1',
      allowedHosts: [],
      allowedOrigins: [],
      registryDir: keys.folder,
      standby: true,
      auth: { mode: 'api-key', keysFile: keys.store.path },
      limits: { keysPollMs: 50 },
      accessLog: () => {},
      log: silentLogger,
    })
  })
  afterEach(async () => {
    await gateway.stop()
    await keys.remove()
  })

  it('takes new ones, and cuts what a revoked one has open', async () => {
    const key = await keys.create('anna', { scope: 'read' })
    const session = await RawSession.open(gateway.url, '2025-11-25', bearer(key))
    const { total } = await session.readJson('gateway://instances')
    expect(total).to.equal(0)
    const stream = await session.listen()
    await keys.revoke('anna')
    await until(() => stream.ended, 'the stream is cut')
    expect(await letsIn(gateway.url, key)).to.equal(false)
  })
})
