import { expect } from 'chai'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { Agent, get, type IncomingMessage, type RequestListener } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type RunningAccounts, createCaller } from '../../helpers/accounts.ts'
import { CuttingProxy } from '../../helpers/cutting-proxy.ts'
import type { RunningGateway } from '../../helpers/gateway-process.ts'
import { freePort } from '../../helpers/free-port.ts'
import { joinAs, joinInstance, toldRecord } from '../../helpers/join.ts'
import {
  accountsInProcess,
  gatewayInProcess,
  serveInProcess,
} from '../../helpers/in-process-servers.ts'
import { type Events, RawSession } from '../../helpers/mcp.ts'
import { callStateless } from '../../helpers/stateless.ts'
import { runCommand } from '../../helpers/in-process.ts'
import { cleanEnv } from '../../helpers/program.ts'
import { until } from '../../helpers/until.ts'
import { newFolder } from '../../helpers/cleanup.ts'

const folder = newFolder()

const sceneOf = (x: number) => ({ document: { name: 'shot.blend' }, objects: [{ id: 'Cube', x }] })

describe('a gateway that instances join', () => {
  let accounts: RunningAccounts
  let caller: ReturnType<typeof createCaller>
  let gateway: RunningGateway
  let base: string
  let session: RawSession
  let events: Events
  /** Access tokens of the users. */
  const users: Record<string, string> = {}
  /** Service tokens of the scope `instance`. */
  const tokens: Record<string, { id: string; token: string }> = {}

  const makeToken = async (user: string, scopes = ['instance']) =>
    (await caller.call('POST', '/tokens', users[user], { name: `${user}-ws`, scopes })).json

  before(async () => {
    accounts = await accountsInProcess()
    caller = createCaller(accounts.url)
    for (const name of ['ada', 'ben']) {
      users[name] = (await caller.register(name)).access_token
      tokens[name] = await makeToken(name)
    }
    const bounds = ['joinTokenCheckMs=200']
    gateway = gatewayInProcess({
      port: 0,
      registryDir: join(folder, 'gateway'),
      flags: [...acceptFlags(), ...bounds.map(bound => `--bound=${bound}`)],
    })
    base = new URL((await gateway.line('listening')).url).origin
    session = await RawSession.open(`${base}/mcp`)
    events = await session.listen()
  })

  const joinFlags = () => ['--aggregate', '--accept-joins', accounts.url]
  const acceptFlags = () => [...joinFlags(), '--auth', 'none', '--bound=rejoinMs=500']

  const tokenOf = (user: string) => tokens[user]?.token ?? ''

  /** On a machine of its own, so far as the gateway can tell: another state directory. */
  const startJoined = async (to = base, flags: string[] = []) => {
    const serve = await serveInProcess({
      flags: ['--join', to, '--dcc-type', 'blender', ...flags],
      env: { SERVICE_JOIN_TOKEN: tokenOf('ada') },
    })
    await joined(serve.instanceId)
    return serve
  }
  const at = (id: string, path = 'scene/current') => `instance://${id}/${path}`
  const read = async (uri: string) =>
    (await callStateless(`${base}/mcp`, 'resources/read', { uri })).json
  const rowOf = async (id: string) => {
    const { result } = await read('gateway://instances?include_dead=true')
    const { instances } = JSON.parse(result.contents[0].text)
    return instances.find((row: any) => row.instance_id === id)
  }
  const joined = (id: string) =>
    until(async () => (await rowOf(id))?.health === 'live', 'the joined instance')
  const lost = (id: string) => until(async () => (await rowOf(id))?.health === 'stale', 'the loss')
  const gone = (id: string) => until(async () => (await rowOf(id)) === undefined, 'the end')
  /** An instance whose answers the test writes. */
  const joinScripted = async (
    { user = 'ada', token = tokenOf(user), id = randomUUID() as string, record = {} },
    listener?: RequestListener,
  ) => ({ id, ...(await joinAs(base, token, { id, record: toldRecord(id, record), listener })) })
  const refusalOf = (token: string, headers = {}, id: string = randomUUID()) =>
    joinAs(base, token, { id, headers }).then(
      () => 'joined',
      (error: Error) => error.message,
    )

  it('is refused by a gateway that asks its clients for no key, unless that is said', async () => {
    const state = ['--registry-dir', join(folder, 'unused'), '--port', '0']
    const env = cleanEnv({ HOME: folder, XDG_CONFIG_HOME: folder })
    const { code, stderr } = await runCommand(['gateway', ...joinFlags(), ...state], { env })
    expect([code, stderr.includes('every user of this machine')], stderr).to.deep.equal([2, true])
  })

  it('lists it beside those of its own machine, with owner and token, and without an address', async () => {
    const local = await serveInProcess({ registryDir: join(folder, 'gateway') })
    const far = await startJoined(base, ['--name', 'far away'])
    await until(async () => (await rowOf(local.instanceId)) !== undefined, 'the local one')
    const row = await rowOf(far.instanceId)
    const ofAda = { owner: 'ada', team: null, name: 'ada-ws' }
    expect([row.joined, row.display_name]).to.deep.equal([
      { ...ofAda, visible_to: 'owner' },
      'far away',
    ])
    expect(row.mcp_url).to.equal(null)
    const other = await rowOf(local.instanceId)
    expect([other.joined, other.mcp_url]).to.deep.equal([undefined, local.url])
  })

  it('reads, subscribes and calls tools over the link, until the instance stops', async () => {
    const far = await startJoined()
    const uri = at(far.instanceId)
    await far.post('scene', sceneOf(1))
    const [content] = (await read(uri)).result.contents
    expect([content.uri, JSON.parse(content.text)]).to.deep.equal([uri, sceneOf(1)])
    const { error } = await read(at(far.instanceId, 'nothing/here'))
    expect(error.data.uri).to.equal(at(far.instanceId, 'nothing/here'))
    await session.call('resources/subscribe', { uri })
    await far.post('scene', sceneOf(2))
    await events.until(() => events.updates.includes(uri), 'the update')
    const tool = await callStateless(`${base}/mcp`, 'tools/call', {
      name: 'query_scene',
      arguments: { instance: far.instanceId },
    })
    expect(tool.json.result.content[0].text).to.include('"revision":2')
    await session.call('resources/unsubscribe', { uri })
    await far.stop()
    await gone(far.instanceId)
    expect((await read(uri)).error.message)
      .to.include('has ended')
      .and.include('cause: it stopped')
  })

  it('shows an instance with a lost link as stale, and gives it back with its subscribers', async () => {
    const proxy = await CuttingProxy.open(Number(new URL(base).port))
    const far = await startJoined(`http://127.0.0.1:${proxy.port}`)
    const uri = at(far.instanceId)
    await far.post('scene', sceneOf(1))
    await session.call('resources/subscribe', { uri })
    const before = events.updates.length
    // Neither end is reached again before the connection is mended.
    proxy.silence()
    proxy.cut()
    await lost(far.instanceId)
    const { reason } = await rowOf(far.instanceId)
    expect(reason).to.include('its link is lost').and.include('the connection was cut')
    expect((await read(uri)).error.data.reason).to.equal('instance_unreachable')
    await far.post('scene', sceneOf(2))
    proxy.mend()
    await joined(far.instanceId)
    await events.until(() => events.updates.slice(before).includes(uri), 'the made-up update')
    expect(JSON.parse((await read(uri)).result.contents[0].text)).to.deep.equal(sceneOf(2))
    const made = events.updates.length
    await far.post('scene', sceneOf(3))
    await events.until(() => events.updates.slice(made).includes(uri), 'the update')
    await session.call('resources/unsubscribe', { uri })
    proxy.close()
  })

  it('keeps subscriptions through its restart, although the instance joins later than the client', async () => {
    const port = await freePort()
    const open = async () => {
      const own = gatewayInProcess({ port, registryDir: join(folder, 'own'), flags: acceptFlags() })
      return { own, url: (await own.line('listening')).url as string }
    }
    const first = await open()
    const joining = { gateway: new URL(first.url).origin, token: tokenOf('ada'), id: randomUUID() }
    const uri = at(joining.id)
    const before = await joinInstance(joining)
    const client = await RawSession.open(first.url)
    expect(await client.call('resources/subscribe', { uri })).to.have.property('result')
    await before.leave()
    await first.own.stop()
    const second = await open()
    const news = await client.listen()
    await news.until(() => news.updates.length === 1, 'the update after the restart')
    const after = await joinInstance(joining)
    await news.until(() => news.updates.length === 2, 'the update of an instance that came')
    after.setScene(sceneOf(1))
    await news.until(() => news.updates.length === 3, 'the update of its scene')
    expect(new Set(news.updates)).to.deep.equal(new Set([uri]))
    news.close()
    await second.own.stop()
    expect(await after.link.ended).to.deep.equal({ code: 1001, reason: 'the gateway stops' })
    await after.leave()
  })

  it('refuses tokens without the scope, of no account, of logins, and web pages', async () => {
    const reader = await makeToken('ada', ['read', 'publish'])
    expect(await refusalOf(reader.token)).to.match(/^HTTP 403.*scope \\"instance\\"/)
    expect(await refusalOf(`svc_${'x'.repeat(40)}`)).to.match(/^HTTP 401/)
    expect(await refusalOf(users.ada ?? '')).to.match(/^HTTP 401/)
    expect(await refusalOf('')).to.match(/^HTTP 401/)
    expect(await refusalOf(tokenOf('ada'), { Origin: 'https://evil.example' })).to.match(
      /^HTTP 403/,
    )
    expect(await refusalOf(tokenOf('ada'), { Host: 'evil.example' })).to.match(/^HTTP 403/)
    expect(await refusalOf(tokenOf('ada'), {}, 'no id')).to.match(/^HTTP 400/)
  })

  it('cuts the link of a revoked token, and shows its instance no more, lost or not', async () => {
    const revoked = await makeToken('ada')
    const { id, link } = await joinScripted({ token: revoked.token })
    const other = await joinScripted({ token: revoked.token })
    for (const each of [id, other.id]) await joined(each)
    other.socket.destroy()
    await lost(other.id)
    // As after kill -9 of an instance: the system closes its socket.
    expect((await rowOf(other.id)).reason).to.include('the connection was cut')
    await caller.call('DELETE', `/tokens/${revoked.id}`, users.ada)
    expect(await link.ended).to.deep.equal({
      code: 4003,
      reason: 'the token is not accepted any more',
    })
    for (const each of [id, other.id]) {
      await gone(each)
      expect((await read(at(each))).error.message).to.include('its token was revoked')
    }
  })

  it('gives an id to one user for as long as it knows the instance, and none of its own machine', async () => {
    const first = await joinScripted({})
    const { id } = first
    await joined(id)
    const refused = /^HTTP 403.*its id is that of another user/
    expect(await refusalOf(tokenOf('ben'), {}, id)).to.match(refused)
    first.socket.destroy()
    await lost(id)
    expect(await refusalOf(tokenOf('ben'), {}, id)).to.match(refused)
    const again = await joinScripted({ id })
    await joined(id)
    expect((await rowOf(id)).joined.owner).to.equal('ada')
    again.link.close(1001, 'stopped')
    await gone(id)
    const later = await joinScripted({ user: 'ben', id })
    await joined(id)
    expect((await rowOf(id)).joined.owner).to.equal('ben')
    later.link.close(1001, 'stopped')
    const local = await serveInProcess({ registryDir: join(folder, 'gateway') })
    const taken = await refusalOf(tokenOf('ben'), {}, local.instanceId)
    expect(taken).to.match(/^HTTP 403.*the machine of the gateway/)
  })

  it('closes the older link of an instance that joins twice', async () => {
    const first = await joinScripted({})
    const { id } = first
    await joined(id)
    const second = await joinScripted({ id })
    expect(await first.link.ended).to.deep.equal({ code: 4009, reason: 'a newer link replaced it' })
    expect((await rowOf(id)).health).to.equal('live')
    second.link.close(1001, 'stopped')
  })

  it('shows an instance that crashed no more once its next run has its address', async () => {
    const place = { hostname: 'workstation', mcp_url: 'http://127.0.0.1:8765/mcp' }
    const crashed = await joinScripted({ record: place })
    const beside = await joinScripted({
      record: { ...place, mcp_url: 'http://127.0.0.1:8766/mcp' },
    })
    const elsewhere = await joinScripted({ record: { ...place, hostname: 'laptop' } })
    for (const { id, socket } of [crashed, beside, elsewhere]) {
      await joined(id)
      socket.destroy()
      await lost(id)
    }
    const next = await joinScripted({ record: place })
    await joined(next.id)
    await gone(crashed.id)
    for (const { id } of [beside, elsewhere]) expect((await rowOf(id)).health).to.equal('stale')
    expect((await read(at(crashed.id))).error.message).to.include('has its address')
    next.link.close(1001, 'stopped')
  })

  it('bounds the instances of a user, those with a lost link included', async () => {
    const user = 'cleo'
    users[user] = (await caller.register(user)).access_token
    tokens[user] = await makeToken(user)
    const opened = await Promise.all(Array.from({ length: 50 }, () => joinScripted({ user })))
    const full = /^HTTP 503.*the user has 50 instances/
    expect(await refusalOf(tokenOf(user))).to.match(full)
    const [first] = opened
    await joined(first?.id ?? '')
    first?.socket.destroy()
    await lost(first?.id ?? '')
    expect(await refusalOf(tokenOf(user))).to.match(full)
    const again = await joinScripted({ user, id: first?.id })
    for (const { link } of [again, ...opened]) link.close(1001, 'stopped')
  })

  it('takes no address from a record, and shows its texts in bounds', async () => {
    const record = {
      display_name: 'a\u001b[31m\u202ename',
      mcp_url: 'http://169.254.169.254/latest',
      host_url: 'http://127.0.0.1:1/host',
    }
    const { id, link } = await joinScripted({ record })
    await joined(id)
    const row = JSON.stringify(await rowOf(id))
    expect(row).to.not.include('169.254').and.not.include('127.0.0.1').and.not.include('\\u001b')
    link.close(1001, 'stopped')
  })

  it('closes a link whose record is invalid or of another instance', async () => {
    const id = randomUUID()
    const records: [object | string, string][] = [
      ['no JSON', 'not valid JSON'],
      [{ ...toldRecord(id), schema_version: 9 }, 'schema_version'],
      ['x'.repeat(200_000), 'larger than 65536 bytes'],
      [{ ...toldRecord(id), metadata: { ['é'.repeat(180)]: 5 } }, 'metadata.ééé'],
      [toldRecord(randomUUID()), 'is that of another instance'],
    ]
    for (const [record, said] of records) {
      const { link } = await joinAs(base, tokenOf('ada'), { id, record })
      const { code, reason } = await link.ended
      expect([code, reason.includes(said)], reason).to.deep.equal([4001, true])
    }
    expect(await rowOf(id)).to.equal(undefined)
  })

  it('cuts a download with its link, but not the connection of one that has every byte', async () => {
    const { id, link, socket } = await joinScripted({}, (req, res) => {
      const bytes = req.url?.endsWith('f') === true ? 5 : 6
      res.writeHead(200, { 'Content-Length': bytes }).write('whole')
    })
    await joined(id)
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const download = async (hex: string, of: Agent) => {
      const req = get(`${base}/instances/${id}/artefacts/sha256/${hex}`, { agent: of })
      const [res] = (await once(req, 'response')) as [IncomingMessage]
      return { req, res }
    }
    const part = await download('0'.repeat(64), new Agent())
    const cut = text(part.res).catch((error: NodeJS.ErrnoException) => error.code)
    expect(await text((await download('f'.repeat(64), agent)).res)).to.equal('whole')
    socket.destroy()
    await link.ended
    expect(await cut).to.equal('ECONNRESET')
    await lost(id)
    const { req, res } = await download('f'.repeat(64), agent)
    expect([res.statusCode, req.reusedSocket]).to.deep.equal([503, true])
    agent.destroy()
  })
})
