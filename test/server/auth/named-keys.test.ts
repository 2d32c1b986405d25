import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect } from 'chai'
import { silentLogger } from '../../../src/lib/util/logger.ts'
import { createAuth } from '../../../src/server/auth/auth.ts'
import { serveInProcess } from '../../helpers/in-process-servers.ts'
import { runCommand } from '../../helpers/in-process.ts'
import {
  bearer,
  type KeyedServer,
  makeKeys,
  newKey,
  startKeyedServer,
  type TestKeys,
} from '../../helpers/keyed-server.ts'
import { ask, initializeBody, postHeaders, RawSession, rpc } from '../../helpers/mcp.ts'
import { cleanEnv } from '../../helpers/program.ts'
import { listenStateless, statelessPost } from '../../helpers/stateless.ts'
import { until } from '../../helpers/until.ts'
import { newFolder } from '../../helpers/cleanup.ts'

const folder = newFolder()

const revision = '2025-11-25'
const event = { source: 'test', stream: 'out', message: 'hello' }
const drain = 'events://session/s?drain=true'

/** One request of 2026-07-28. */
function call(url: string, key: string, method: string, params: Record<string, unknown> = {}) {
  return ask(url, statelessPost(method, params, bearer(key)))
}

const discover = async (url: string, key: string) =>
  (await call(url, key, 'server/discover')).status

/** Whether a new session is opened with the key, or without any. */
const letsIn = (url: string, key?: string) =>
  RawSession.open(url, revision, key === undefined ? {} : bearer(key)).then(
    () => true,
    () => false,
  )

describe('a server with named keys', () => {
  let keys: TestKeys
  let server: KeyedServer

  before(async () => {
    keys = await makeKeys()
    await keys.create('first')
    server = await startKeyedServer(keys)
  })

  const listen = (key: string) =>
    listenStateless(server.url, { resourceSubscriptions: ['scene://current'] }, 1, bearer(key))
  const open = (key: string, spoken = revision) => RawSession.open(server.url, spoken, bearer(key))

  it('accepts exactly the keys of the file on every route of both transports', async () => {
    const [anna, ben] = [await keys.create('anna'), await keys.create('ben')]
    const artefact = `${server.base}/artefacts/sha256/${'0'.repeat(64)}`
    for (const key of [anna, ben]) {
      expect(await discover(server.url, key)).to.equal(200)
      expect(await (await open(key)).call('ping')).to.deep.include({ result: {} })
      expect((await ask(artefact, { headers: bearer(key) })).status).to.equal(404)
    }
    for (const key of [newKey(), `${anna}x`, anna.toUpperCase()]) {
      expect(await discover(server.url, key)).to.equal(401)
      for (const method of ['POST', 'GET', 'DELETE']) {
        const headers = { ...postHeaders, ...bearer(key) }
        const body = method === 'POST' ? initializeBody() : undefined
        const answer = await ask(server.url, { method, headers, ...(body && { body }) })
        expect(answer.status, method).to.equal(401)
        expect(answer.json.error).to.equal('invalid_token')
        expect(answer.headers['www-authenticate']).to.match(/^Bearer realm=.*error="invalid_token"/)
      }
      expect((await ask(artefact, { headers: bearer(key) })).status).to.equal(401)
    }
  })

  it('refuses a revoked key and cuts its open streams without a request, and no other', async () => {
    const [carol, dave] = [await keys.create('carol'), await keys.create('dave')]
    const ofCarol = [await listen(carol), await (await open(carol)).listen()]
    const session = await open(dave)
    await session.call('resources/subscribe', { uri: 'scene://current' })
    const ofDave = [await listen(dave), await session.listen()]
    await keys.revoke('carol')
    await until(() => ofCarol.every(stream => stream.ended), 'streams cut')
    expect(await discover(server.url, carol)).to.equal(401)
    server.setScene({ a: 1 })
    for (const stream of ofDave) {
      await stream.until(() => stream.updates.length > 0)
      stream.close()
    }
  })

  it('refuses an expired key, and cuts its streams', async () => {
    const openFor = async (lifeMs: number) => {
      const expires_at = new Date(Date.now() + lifeMs).toISOString()
      const key = await keys.create(`for-${lifeMs}-ms`, { expires_at })
      return { key, streams: [await listen(key), await (await open(key)).listen()] }
    }
    // On a busy machine a key may expire before both are open.
    const { key, streams } = await openFor(1000).catch(() => openFor(10_000))
    await until(() => streams.every(stream => stream.ended), 'streams cut')
    const { status, json } = await call(server.url, key, 'server/discover')
    expect(status).to.equal(401)
    expect(json.error_description).to.contain('expired')
  })

  for (const [what, spoil] of [
    ['removed', (path: string) => rm(path)],
    ['damaged', (path: string) => writeFile(path, '{"keys":[{}]}')],
  ] as const) {
    it(`refuses every key while the file is ${what}, and accepts its keys afterwards`, async () => {
      const key = await keys.create(`while-${what.replaceAll(' ', '-')}`)
      const stream = await listen(key)
      const { path } = keys
      const before = await readFile(path, 'utf8')
      await spoil(path)
      await until(async () => (await discover(server.url, key)) === 401, 'refused')
      await until(() => stream.ended, 'stream cut')
      expect((await ask(server.url, { headers: postHeaders })).status).to.equal(401)
      await rm(path, { force: true })
      await writeFile(path, before, { mode: 0o600 })
      expect(await discover(server.url, key)).to.equal(200)
    })
  }

  describe('one of which may only read', () => {
    let reader: string
    before(async () => {
      reader = await keys.create('reader', { scope: 'read' })
      server.events.append(event)
    })
    const buffered = () => server.events.page().retained_count

    it('reads, lists and subscribes on both transports', async () => {
      const session = await open(reader)
      expect(await session.call('resources/list')).to.have.property('result')
      for (const uri of ['scene://current', 'events://session/s?drain=false']) {
        expect(await session.call('resources/read', { uri })).to.have.property('result')
        const { status } = await call(server.url, reader, 'resources/read', { uri })
        expect(status).to.equal(200)
      }
      const subscribed = await session.call('resources/subscribe', { uri: 'scene://current' })
      expect(subscribed).to.have.property('result')
      ;(await listen(reader)).close()
    })

    it('gets 403 insufficient_scope for a read that drains, and drains nothing', async () => {
      const uri = 'EVENTS://session/s?%64rain=%74rue'
      const answers = [
        await (await open(reader)).post(rpc('resources/read', { uri })),
        await call(server.url, reader, 'resources/read', { uri }),
      ]
      for (const { status, json, headers } of answers) {
        expect(status).to.equal(403)
        expect(json.error).to.equal('insufficient_scope')
        expect(headers['www-authenticate']).to.match(/error="insufficient_scope".*scope="write"/)
      }
      expect(buffered()).to.equal(1)
    })
  })
})

describe('a server with named keys and settings of its own', () => {
  let keys: TestKeys
  beforeEach(async () => (keys = await makeKeys()))

  const start = (options: Parameters<typeof startKeyedServer>[1]) => startKeyedServer(keys, options)

  it('takes the key of its configuration too; one that is also a named one only reads', async () => {
    const reader = await keys.create('reader', { scope: 'read' })
    const { url, stop } = await start({ key: reader })
    const session = await RawSession.open(url, revision, bearer(reader))
    const answer = await session.post(rpc('resources/read', { uri: drain }))
    expect(answer.status).to.equal(403)
    await stop()
    const key = 'the-key-of-the-configuration'
    const other = await start({ key })
    expect(await discover(other.url, key)).to.equal(200)
    expect(await discover(other.url, await keys.create('anna'))).to.equal(200)
    expect(await discover(other.url, newKey())).to.equal(401)
  })

  it('counts wrong keys, answers 429 beyond the limit, and lets valid ones pass', async () => {
    const key = await keys.create('anna')
    const { url } = await start({ maxFailures: 3 })
    for (let at = 0; at < 3; at++) expect(await discover(url, newKey())).to.equal(401)
    const limited = await call(url, newKey(), 'server/discover')
    expect(limited.status).to.equal(429)
    expect(Number(limited.headers['retry-after'])).to.be.within(1, 60)
    expect(limited.headers['www-authenticate']).to.match(/^Bearer /)
    expect(await discover(url, key)).to.equal(200)
    expect((await ask(url, { headers: postHeaders })).status, 'without any key').to.equal(401)
  })

  it('that started open refuses every request while the keys file is unusable', async () => {
    const { url } = await start({ mode: 'none' })
    await mkdir(dirname(keys.path), { recursive: true, mode: 0o700 })
    await writeFile(keys.path, '{', { mode: 0o600 })
    await until(async () => !(await letsIn(url)), 'nobody is let in')
    await rm(keys.path)
    expect(await letsIn(url), 'a missing file opens no server').to.equal(false)
  })
})

it('a server that needs a key warns when there is none', async () => {
  const keys = await makeKeys()
  const warnings: string[] = []
  const warn = (_: object, message = '') => void warnings.push(message)
  const deps = { mcpUrl: () => 'http://127.0.0.1:1/mcp', log: { ...silentLogger, warn } }
  const { close } = await createAuth({ mode: 'api-key', keysFile: keys.path }, deps)
  close()
  await keys.remove()
  expect(warnings.join()).to.contain('keys create').and.contain('keys off')
})

describe('keys made and revoked beside a running server', () => {
  const keys = (...words: string[]) =>
    runCommand(['keys', ...words], { env: cleanEnv({ HOME: folder }) })
  const make = async (name: string) => (await keys('create', name)).stdout.trim()

  it('are asked for from the first one on, rotated without a restart, and in no output', async () => {
    const serve = await serveInProcess({ registryDir: folder })
    const { url, output } = serve
    const openStream = await (await RawSession.open(url, revision)).listen()
    const first = await make('first')
    await until(() => openStream.ended, 'the stream of a caller without a key is cut')
    expect(await letsIn(url, 'nonsense')).to.equal(false)
    const stream = await (await RawSession.open(url, revision, bearer(first))).listen()

    const second = await make('second')
    expect(await letsIn(url, second)).to.equal(true)
    expect((await keys('revoke', 'first')).code).to.equal(0)
    await until(() => stream.ended, 'the stream of the revoked key is cut')
    expect(await letsIn(url, first)).to.equal(false)
    expect(await letsIn(url, second)).to.equal(true)
    await keys('revoke', 'second', '--yes')
    await until(async () => !(await letsIn(url, second)), 'the last key is refused')
    expect(await letsIn(url), 'the last key is gone').to.equal(false)
    const file = join(folder, '.config/service-cli/client-keys.json')
    await rm(file)
    expect(await letsIn(url), 'a missing file opens no server').to.equal(false)
    await keys('off')
    await until(() => letsIn(url), 'no key is needed any more')
    await make('third')
    await until(async () => !(await letsIn(url)), 'a key is asked for again')

    const { stdout, stderr } = output()
    expect(stderr).to.contain('key:second')
    const told = stdout + stderr + (await readFile(file, 'utf8'))
    for (const key of [first, second]) expect(told).not.to.contain(key)
  })

  it('hold after keys off where other machines come in, until that is allowed at a start', async () => {
    const key = await make('exposed')
    const flags = ['--host', '0.0.0.0']
    const closed = await serveInProcess({ registryDir: folder, flags })
    expect(await letsIn(closed.url, key)).to.equal(true)
    await keys('off', '--yes')
    await until(async () => !(await letsIn(closed.url, key)), 'the key is refused')
    expect(await letsIn(closed.url)).to.equal(false)
    await closed.stop()
    const meant = [...flags, '--allow-unauthenticated']
    const open = await serveInProcess({ registryDir: folder, flags: meant })
    expect(await letsIn(open.url)).to.equal(true)
  })
})
