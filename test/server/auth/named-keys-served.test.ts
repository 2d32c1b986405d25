import { chmod, readFile, rm, writeFile } from 'node:fs/promises'
import { expect } from 'chai'
import { newKey } from '../../../src/lib/auth/keys-file.ts'
import { until } from '../../helpers/until.ts'
import {
  bearer,
  type KeyedServer,
  makeKeys,
  startKeyedServer,
  type TestKeys,
} from '../../helpers/keyed-server.ts'
import { ask, Events, initializeBody, postHeaders, RawSession, rpc } from '../../helpers/mcp.ts'
import { settableClock } from '../../helpers/settable-clock.ts'
import { statelessHeaders, statelessRequest } from '../../helpers/stateless.ts'

const event = { source: 'test', stream: 'out', message: 'hello' }
const drain = 'events://session/s?drain=true'

describe('a server with named keys', () => {
  let keys: TestKeys
  let server: KeyedServer

  beforeEach(async () => {
    keys = await makeKeys()
    await keys.create('first')
    server = await startKeyedServer(keys)
  })
  afterEach(async () => {
    await server.stop()
    await keys.remove()
  })

  /** One request of 2026-07-28. */
  function call(key: string, method: string, params: Record<string, unknown> = {}) {
    const headers = { ...statelessHeaders(method, params), ...bearer(key) }
    const body = JSON.stringify(statelessRequest(method, params))
    return ask(server.url, { method: 'POST', headers, body })
  }

  function listen(key: string): Promise<Events> {
    const method = 'subscriptions/listen'
    const params = { notifications: { resourceSubscriptions: ['scene://current'] } }
    const body = JSON.stringify(statelessRequest(method, params))
    return Events.open(server.url, { ...statelessHeaders(method), ...bearer(key) }, body)
  }

  const open = (key: string, revision = '2025-11-25') =>
    RawSession.open(server.url, revision, bearer(key))
  const discover = async (key: string) => (await call(key, 'server/discover')).status
  const buffered = () => server.events.retainedCount

  it('accepts exactly the keys of the file on every route of both transports', async () => {
    const [anna, ben] = [await keys.create('anna'), await keys.create('ben')]
    const artefact = `${server.base}/artefacts/sha256/${'0'.repeat(64)}`
    for (const key of [anna, ben]) {
      expect(await discover(key)).to.equal(200)
      expect(await (await open(key)).call('ping')).to.deep.include({ result: {} })
      expect((await ask(artefact, { headers: bearer(key) })).status).to.equal(404)
    }
    for (const key of [newKey(), `${anna}x`, anna.slice(0, -1), anna.toUpperCase(), 'smk_']) {
      expect(await discover(key)).to.equal(401)
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

  it('binds a session to its key: for another one it does not exist', async () => {
    const [anna, ben] = [await keys.create('anna'), await keys.create('ben')]
    const session = await open(anna)
    const stolen = { ...session.headers, ...bearer(ben) }
    const asBen = [
      await ask(server.url, { method: 'POST', headers: stolen, body: rpc('ping') }),
      await ask(server.url, { headers: { ...stolen, Accept: 'text/event-stream' } }),
      await ask(server.url, { method: 'DELETE', headers: stolen }),
    ]
    for (const answer of asBen) expect(answer.status).to.equal(404)
    expect(await session.call('ping'), 'still there').to.deep.include({ result: {} })
  })

  it('takes a key made while it runs at its first request', async () => {
    for (const name of ['a', 'b', 'c']) {
      expect(await discover(await keys.create(name))).to.equal(200)
    }
  })

  it('refuses a revoked key, and keeps the others', async () => {
    const [anna, ben] = [await keys.create('anna'), await keys.create('ben')]
    expect(await discover(anna)).to.equal(200)
    await keys.revoke('anna')
    await until(async () => (await discover(anna)) === 401, 'refused')
    expect(await discover(ben)).to.equal(200)
  })

  it('cuts the open streams of a revoked key, without a request, and no other', async () => {
    const [anna, ben] = [await keys.create('anna'), await keys.create('ben')]
    const ofAnna = [await listen(anna), await (await open(anna)).listen()]
    const bens = await open(ben)
    await bens.call('resources/subscribe', { uri: 'scene://current' })
    const ofBen = [await listen(ben), await bens.listen()]
    await keys.revoke('anna')
    await until(() => ofAnna.every(stream => stream.ended), 'streams cut')
    server.setScene({ a: 1 })
    for (const stream of ofBen) {
      await stream.until(() => stream.updates.length > 0)
      stream.close()
    }
  })

  it('refuses an expired key, and cuts its streams', async () => {
    const openFor = async (lifeMs: number) => {
      const expiresAt = new Date(Date.now() + lifeMs).toISOString()
      const key = await keys.create(`for-${lifeMs}-ms`, { expiresAt })
      return { key, streams: [await listen(key), await (await open(key)).listen()] }
    }
    // On a busy machine a key may expire before both are open.
    const { key, streams } = await openFor(1000).catch(() => openFor(10_000))
    await until(() => streams.every(stream => stream.ended), 'streams cut')
    const { status, json } = await call(key, 'server/discover')
    expect(status).to.equal(401)
    expect(json.error_description).to.contain('expired')
  })

  for (const [what, spoil] of [
    ['removed', (path: string) => rm(path)],
    ['damaged', (path: string) => writeFile(path, '{"form":1,"keys":[{}]}')],
    ['open to others', (path: string) => chmod(path, 0o666)],
  ] as const) {
    it(`refuses every key while the file is ${what}, and accepts its keys afterwards`, async () => {
      const key = await keys.create('anna')
      const stream = await listen(key)
      const { path } = keys.store
      const before = await readFile(path, 'utf8')
      await spoil(path)
      await until(async () => (await discover(key)) === 401, 'refused')
      await until(() => stream.ended, 'stream cut')
      expect((await ask(server.url, { headers: postHeaders })).status).to.equal(401)
      await rm(path, { force: true })
      await writeFile(path, before, { mode: 0o600 })
      expect(await discover(key)).to.equal(200)
    })
  }

  describe('one of which may only read', () => {
    let key: string
    let write: string
    beforeEach(async () => {
      key = await keys.create('reader', { scope: 'read' })
      write = await keys.create('writer')
      server.events.append(event)
    })

    it('reads, lists and subscribes on both transports', async () => {
      const session = await open(key)
      for (const method of ['resources/list', 'resources/templates/list', 'ping']) {
        expect(await session.call(method)).to.have.property('result')
      }
      for (const uri of ['scene://current', 'events://session/s', `${drain.slice(0, -4)}false`]) {
        expect(await session.call('resources/read', { uri })).to.have.property('result')
        expect((await call(key, 'resources/read', { uri })).status).to.equal(200)
      }
      const subscribed = await session.call('resources/subscribe', { uri: 'scene://current' })
      expect(subscribed).to.have.property('result')
      const stream = await listen(key)
      await stream.until(() => stream.messages.length > 0)
      stream.close()
    })

    for (const uri of [
      drain,
      'events://session/s?drain=1',
      'EVENTS://session/s?drain=true',
      'events://session/s?%64rain=%74rue',
      'events://session/s?cursor=0&drain=true',
    ]) {
      it(`gets 403 insufficient_scope for ${uri}, and drains nothing`, async () => {
        const session = await open(key)
        const answers = [
          await session.post(rpc('resources/read', { uri })),
          await call(key, 'resources/read', { uri }),
        ]
        for (const { status, json, headers } of answers) {
          expect(status).to.equal(403)
          expect(json.error).to.equal('insufficient_scope')
          expect(headers['www-authenticate']).to.match(/error="insufficient_scope".*scope="write"/)
        }
        expect(buffered()).to.equal(1)
      })
    }

    it('gets an error for it inside a batch, whose other requests are answered', async () => {
      const session = await open(key, '2025-03-26')
      const batch = [rpc('ping', {}, 1), rpc('resources/read', { uri: drain }, 2)].join(',')
      const { status, json } = await session.post(`[${batch}]`)
      expect(status).to.equal(200)
      expect(json[0]).to.deep.include({ id: 1, result: {} })
      expect(json[1]).to.have.nested.property('error.code', -32000)
      expect(buffered()).to.equal(1)
    })

    it('and the other drains', async () => {
      const session = await open(write, '2025-03-26')
      expect(await session.call('resources/read', { uri: drain })).to.have.property('result')
      expect(buffered()).to.equal(0)
      server.events.append(event)
      expect((await call(write, 'resources/read', { uri: drain })).status).to.equal(200)
      expect(buffered()).to.equal(0)
    })
  })
})

describe('a server with named keys and one of its configuration', () => {
  let keys: TestKeys
  beforeEach(async () => (keys = await makeKeys()))
  afterEach(() => keys.remove())

  const discover = (url: string, key: string) => {
    const headers = { ...statelessHeaders('server/discover'), ...bearer(key) }
    const body = JSON.stringify(statelessRequest('server/discover'))
    return ask(url, { method: 'POST', headers, body })
  }

  it('takes both, and needs no file for its own', async () => {
    const key = 'the-key-of-the-configuration'
    const server = await startKeyedServer(keys, { key })
    try {
      expect((await discover(server.url, key)).status).to.equal(200)
      const anna = await keys.create('anna')
      expect((await discover(server.url, anna)).status).to.equal(200)
      expect((await discover(server.url, newKey())).status).to.equal(401)
    } finally {
      await server.stop()
    }
  })

  it('takes a named key of the configuration for what it is: one that only reads', async () => {
    const key = await keys.create('reader', { scope: 'read' })
    const server = await startKeyedServer(keys, { key })
    try {
      const session = await RawSession.open(server.url, '2025-11-25', bearer(key))
      const answer = await session.post(rpc('resources/read', { uri: drain }))
      expect(answer.status).to.equal(403)
    } finally {
      await server.stop()
    }
  })

  it('has a refused key in the audit by its name, once for a second', async () => {
    const key = await keys.create('reader', { scope: 'read' })
    const clock = settableClock()
    const server = await startKeyedServer(keys, { clock })
    const denied = () => server.audit.recent(10).filter(({ actor }) => actor === 'key:reader')
    const session = await RawSession.open(server.url, '2025-11-25', bearer(key))
    const read = () => session.post(rpc('resources/read', { uri: drain }))
    try {
      for (let at = 0; at < 3; at++) await read()
      expect(denied()).to.have.lengthOf(1)
      expect(denied()[0]?.outcome).to.deep.equal({ denied: { reason: 'insufficient_scope' } })
      clock.advance(1001)
      await read()
      expect(denied()).to.have.lengthOf(2)
    } finally {
      await server.stop()
    }
  })

  it('counts wrong keys, answers 429 beyond the limit, and lets valid ones pass', async () => {
    const key = await keys.create('anna')
    const server = await startKeyedServer(keys, { limits: { maxAuthFailures: 3 } })
    try {
      for (let at = 0; at < 3; at++) {
        expect((await discover(server.url, newKey())).status).to.equal(401)
      }
      const limited = await discover(server.url, newKey())
      expect(limited.status).to.equal(429)
      expect(Number(limited.headers['retry-after'])).to.be.within(1, 60)
      expect(limited.headers['www-authenticate']).to.match(/^Bearer /)
      expect((await discover(server.url, key)).status).to.equal(200)
      const bare = await ask(server.url, { headers: postHeaders })
      expect(bare.status, 'without any key').to.equal(401)
    } finally {
      await server.stop()
    }
  })

  it('does not start on a damaged file', async () => {
    await keys.create('anna')
    await writeFile(keys.store.path, '{')
    const error = await startKeyedServer(keys, { key: 'k'.repeat(32) }).then(
      server => server.stop(),
      cause => cause,
    )
    expect(error).to.include({ code: 'config_invalid' })
  })
})
