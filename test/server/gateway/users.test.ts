import { expect } from 'chai'
import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { type IncomingMessage, request, type RequestListener, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { type RunningAccounts, createCaller } from '../../helpers/accounts.ts'
import type { RunningGateway } from '../../helpers/gateway-process.ts'
import { runCommand, expectEnd } from '../../helpers/in-process.ts'
import { freePort } from '../../helpers/free-port.ts'
import { joinAs, joinInstance, toldRecord } from '../../helpers/join.ts'
import {
  accountsInProcess,
  gatewayInProcess,
  serveInProcess,
} from '../../helpers/in-process-servers.ts'
import { ask, type Events, RawSession, rpc } from '../../helpers/mcp.ts'
import { PageBrowser, useKey } from '../../helpers/page.ts'
import { newKey, OpenIdServer } from '../../helpers/openid.ts'
import { cleanEnv } from '../../helpers/program.ts'
import { contentsOf } from '../../helpers/instances.ts'
import { statelessPost } from '../../helpers/stateless.ts'
import { until } from '../../helpers/until.ts'
import { atEnd, newFolder } from '../../helpers/cleanup.ts'

const folder = newFolder()

const key = 'the-key-of-the-operator'

describe('a gateway whose users see what is theirs', () => {
  let accounts: RunningAccounts
  let caller: ReturnType<typeof createCaller>
  let gateway: RunningGateway
  let base: string
  const users: Record<string, { access: string; join: string }> = {}

  before(async () => {
    accounts = await accountsInProcess()
    caller = createCaller(accounts.url)
    for (const name of ['ada', 'ben', 'cleo']) {
      const { access_token: access } = await caller.register(name)
      users[name] = { access, join: (await makeToken(access, ['instance'])).token }
    }
    for (const name of ['ada', 'ben']) await setTeam(name, 'fx')
    gateway = gatewayInProcess({
      port: 0,
      registryDir: join(folder, 'gateway'),
      flags: [...gatewayFlags(), '--auth', 'accounts', '--bound=joinTokenCheckMs=200'],
      env: { SERVICE_MCP_API_KEY: key },
    })
    base = new URL((await gateway.line('listening')).url).origin
  })

  const gatewayFlags = () => ['--aggregate', '--accept-joins', accounts.url, '--bound=rejoinMs=100']
  const makeToken = async (access: string, scopes: string[]) =>
    (await caller.call('POST', '/tokens', access, { name: 'ws', scopes })).json
  const setTeam = async (name: string, team: string | null) => {
    const args = [name, '--team', team ?? '', '--data-dir', accounts.dataDir]
    expectEnd(await runCommand(['registry', 'users', 'set', ...args]), 0)
  }
  const accessOf = (name: string) => users[name]?.access ?? ''
  const joinOf = async (name: string, record: object, id = randomUUID() as string) => {
    const token = users[name]?.join ?? ''
    return joinInstance({ gateway: base, token, record, id })
  }
  const callAt = (url: string, token: string | PageBrowser, method: string, params = {}) =>
    ask(url, statelessPost(method, params, token === '' ? {} : bearer(token)))
  const call = (token: string | PageBrowser, method: string, params = {}) =>
    callAt(`${base}/mcp`, token, method, params)
  const read = async (token: string | PageBrowser, uri: string) =>
    (await call(token, 'resources/read', { uri })).json
  const idsOf = async (token: string | PageBrowser): Promise<string[]> => {
    const { result } = await read(token, 'gateway://instances?include_dead=true')
    return JSON.parse(result.contents[0].text).instances.map((row: any) => row.instance_id)
  }
  const isListed = (id: string, name: string) =>
    until(async () => (await idsOf(accessOf(name))).includes(id), `the instance, for ${name}`)
  const isHidden = (id: string, name: string) =>
    until(async () => !(await idsOf(accessOf(name))).includes(id), `no instance, for ${name}`)
  const bearer = (token: string | PageBrowser): Record<string, string> =>
    typeof token === 'string' ? { Authorization: `Bearer ${token}` } : token.headers
  /** An instance of Ada whose answers the test writes. */
  const joinScripted = async (listener?: RequestListener, token = users.ada?.join ?? '') => {
    const id = randomUUID()
    const record = toldRecord(id, { visible_to: 'team' })
    const joined = await joinAs(base, token, { id, record, listener })
    await isListed(id, 'ben')
    return { id, ...joined }
  }
  const artefactOf = (id: string, hex = '0'.repeat(64)) =>
    `${base}/instances/${id}/artefacts/sha256/${hex}`
  const open = async (token: string | PageBrowser): Promise<[RawSession, Events]> => {
    const session = await RawSession.open(`${base}/mcp`, '2025-11-25', bearer(token))
    return [session, await session.listen()]
  }
  const at = (id: string, path = 'scene/current') => `instance://${id}/${path}`
  const sceneOf = (x: number) => ({ objects: [{ id: 'Cube', x }] })

  it('lists and reads what is theirs, their team’s and for all; the holder of the key all', async () => {
    const own = await joinOf('ada', { visible_to: 'owner' })
    const team = await joinOf('ada', { visible_to: 'team' })
    const all = await joinOf('ada', { visible_to: 'all' })
    const lonely = await joinOf('cleo', { visible_to: 'team' })
    const local = await serveInProcess({ registryDir: join(folder, 'gateway') })
    const [a, t, e, l] = [own.id, team.id, all.id, lonely.id]
    await until(async () => (await idsOf(key)).includes(local.instanceId), 'the local one')
    const seen = async (token: string) => new Set(await idsOf(token))
    expect(await seen(accessOf('ada'))).to.deep.equal(new Set([a, t, e]))
    expect(await seen(accessOf('ben'))).to.deep.equal(new Set([t, e]))
    expect(await seen(accessOf('cleo'))).to.deep.equal(new Set([e, l]))
    expect(await seen(key)).to.include.all.keys(a, t, e, l, local.instanceId)
    for (const each of [own, team, all]) each.setScene(sceneOf(1))
    const text = (answer: any) => answer.result?.contents[0].text
    expect(text(await read(accessOf('ben'), at(t)))).to.include('"x":1')
    expect(text(await read(accessOf('ada'), at(a)))).to.include('"x":1')
  })

  it('answers for an instance that is not visible exactly as for one that is unknown', async () => {
    const hidden = await joinOf('ada', { visible_to: 'owner', display_name: 'secret-name' })
    hidden.setScene(sceneOf(1))
    const unknown = randomUUID()
    const ben = accessOf('ben')
    const [session] = await open(ben)
    const tool = (name: string, args: object) =>
      session.call('tools/call', { name, arguments: args })
    const answersOf = (id: string, name: string) => [
      read(ben, at(id)),
      read(ben, at(id.slice(0, 8))),
      read(ben, `gateway://instances/${id}`),
      read(ben, `gateway://instances/${id.slice(0, 8)}`),
      session.call('resources/subscribe', { uri: at(id) }),
      tool('query_scene', { instance: id }),
      tool('query_scene', { instance: name }),
      tool('read_resource', { uri: at(id) }),
      tool('wait_for_change', { uris: [at(id)] }),
      session.call('completion/complete', {
        ref: { type: 'ref/resource', uri: 'instance://{instance_id}/scene/current' },
        argument: { name: 'instance_id', value: id.slice(0, 4) },
      }),
      ask(artefactOf(id), { headers: bearer(ben) }).then(({ status, json }) => ({
        status,
        ...json,
        instance: undefined,
      })),
    ]
    const masked = async (id: string, name: string) =>
      (await Promise.all(answersOf(id, name))).map(answer =>
        JSON.stringify({ ...answer, id: 0 })
          .replaceAll(id, 'ID')
          .replaceAll(id.slice(0, 8), 'SHORT')
          .replaceAll(name, 'NAME'),
      )
    expect(await masked(hidden.id, 'secret-name')).to.deep.equal(await masked(unknown, 'no-name'))
  })

  it('ends the open requests of those who lose an instance', async () => {
    const shared = await joinOf('ada', { visible_to: 'team' })
    const uri = at(shared.id)
    const [ben, updates] = await open(accessOf('ben'))
    await ben.call('resources/subscribe', { uri })
    shared.setScene(sceneOf(1))
    await updates.until(() => updates.updates.includes(uri), 'the update')
    const waiting = ben.call('tools/call', {
      name: 'wait_for_change',
      arguments: { uris: [uri], timeout_s: 45 },
    })
    shared.tell({ visible_to: 'owner' })
    expect(JSON.stringify(await waiting)).to.include('no such instance is known')
    expect((await ben.call('resources/read', { uri })).error.code).to.equal(-32002)
  })

  it('downloads what is visible, and writes down who read what, and how it ended', async () => {
    const flags = ['--join', base, '--visible-to', 'team', '--dcc-type', 'blender']
    const far = await serveInProcess({ flags, env: { SERVICE_JOIN_TOKEN: users.ada?.join ?? '' } })
    const id = far.instanceId
    await isListed(id, 'ben')
    const bytes = randomBytes(3_000_000)
    const hex = await far.store(bytes)
    const download = (name: string) =>
      fetch(artefactOf(id, hex), { headers: bearer(accessOf(name)) })
    const whole = await download('ben')
    expect(Buffer.from(await whole.arrayBuffer()).equals(bytes)).to.equal(true)
    expect((await download('cleo')).status).to.equal(404)
    const [session] = await open(accessOf('ben'))
    await session.call('resources/subscribe', { uri: at(id) })
    await session.call('tools/call', { name: 'query_scene', arguments: { instance: id } })
    await read(accessOf('ben'), at(id, 'nothing/here?token=hidden-words'))
    await read(key, at(id, `artefact/sha256/${hex}`))
    const trail = () =>
      gateway
        .stderr()
        .split('\n')
        .flatMap(line => (line.includes('an instance was accessed') ? [JSON.parse(line)] : []))
        .filter(entry => entry.instance_id === id)
    await until(() => trail().length >= 5, 'the trail')
    const entries = trail().map(({ user, owner, rpc, uri, outcome }) =>
      [user, owner, rpc, uri.replace(id, 'ID'), outcome].join(' '),
    )
    expect(entries).to.include.members([
      'ben ada resources/subscribe instance://ID/scene/current ok',
      'ben ada tools/call query_scene gateway://instances/ID ok',
      ` ada resources/read instance://ID/artefact/sha256/${hex} ok`,
      `ben ada GET instance://ID/artefact/sha256/${hex} ok`,
    ])
    expect(entries.find(entry => entry.includes('nothing/here'))).to.match(/ resource_not_found$/)
    expect(gateway.stderr()).to.not.include('hidden-words')
  })

  it('lets no user fill the link of an instance with downloads that are not read', async () => {
    const endless: RequestListener = (_req, res) => void res.writeHead(200).write('begun')
    const { id, link, socket } = await joinScripted(endless)
    const download = async (name: string, token = accessOf(name)) => {
      const req = request(artefactOf(id), { headers: bearer(token), agent: false })
      req.on('error', () => {})
      req.end()
      const [res] = (await once(req, 'response')) as [IncomingMessage]
      atEnd(() => req.destroy())
      return { status: res.statusCode, end: () => req.destroy() }
    }
    const first = await download('ben')
    for (let more = 1; more < 64; more++) expect((await download('ben')).status).to.equal(200)
    expect((await download('ben')).status).to.equal(503)
    // Another token of the user counts with the first.
    const { token } = await makeToken(accessOf('ben'), ['read:artefact'])
    expect((await download('ben', token)).status).to.equal(503)
    expect((await download('ada')).status).to.equal(200)
    first.end()
    await until(async () => (await download('ben')).status === 200, 'a free place')
    socket.destroy()
    await link.ended
    await until(async () => 'error' in (await read(accessOf('ada'), at(id))), 'the loss')
    const lost = await ask(artefactOf(id), { headers: bearer(accessOf('ada')) })
    expect(lost.json).to.include({ status: 503, reason: 'instance_unreachable' })
    expect(gateway.stderr()).to.not.include('a request failed')
  })

  it('tells of a download that the instance refuses, and logs no error', async () => {
    let answering: (res: ServerResponse) => void = () => {}
    const { id, link } = await joinScripted((_req, res) => answering(res))
    const url = artefactOf(id)
    const headers = bearer(accessOf('ben'))
    for (const status of [401, 421, 503]) {
      answering = res => void res.writeHead(status).end()
      const { json } = await ask(url, { headers })
      expect(json).to.include({ status: 503, code: 'overloaded' })
      if (status !== 421) expect(json.detail).to.contain(`HTTP ${status}`)
    }
    expect(gateway.stderr()).to.not.include('a request failed')
    link.close(1001, 'the instance stops')
  })

  it('lets callers not fill the link of an instance with answers that do not end', async () => {
    const large = `"contents":[{"uri":"x","blob":"${'A'.repeat(300_000)}`
    const { id, link } = await joinScripted(async (req, res) => {
      const asked = JSON.parse(Buffer.concat(await req.toArray()).toString())
      if (req.headers['mcp-name'] !== at(id)) {
        return void res
          .writeHead(200)
          .write(`{"jsonrpc":"2.0","id":"${asked.id}","result":{${large}`)
      }
      res.writeHead(200).end(contentsOf(at(id), 'x', asked.id))
    })
    const left = new AbortController()
    const readLarge = (token: string, n: number) => {
      const uri = at(id, `app/${n}`)
      const post = statelessPost('resources/read', { uri }, bearer(token))
      return fetch(`${base}/mcp`, { ...post, signal: left.signal })
    }
    // Kept: an answer that is collected ends.
    const open: Response[] = []
    for (let n = 0; n < 64; n++) open.push(await readLarge(accessOf('ben'), n))
    expect(await (await readLarge(accessOf('ben'), 64)).text()).to.include(
      '64 requests of the user',
    )
    for (const caller of [accessOf('ada'), key]) {
      expect((await read(caller, at(id))).result?.contents[0].text).to.equal('x')
    }
    expect(open.every(({ status }) => status === 200)).to.equal(true)
    left.abort()
    link.close(1001, 'the instance stops')
    await link.ended
  })

  it('hides an instance whose link is lost from the team that its user has left', async () => {
    const { id, socket } = await joinScripted()
    socket.destroy()
    const healthOf = async () => {
      const { result } = await read(accessOf('ben'), `gateway://instances/${id}`)
      return result === undefined ? null : JSON.parse(result.contents[0].text).health
    }
    await until(async () => (await healthOf()) === 'stale', 'the loss')
    await setTeam('ada', 'lighting')
    await isHidden(id, 'ben')
    expect(await idsOf(accessOf('ada'))).to.include(id)
    await setTeam('ada', 'fx')
  })

  it('ends the sessions of a user who comes to another team, also where sessions are kept', async () => {
    const own = gatewayInProcess({
      port: await freePort(),
      registryDir: join(folder, 'kept'),
      flags: [...gatewayFlags(), '--auth', 'accounts', '--bound=joinTokenCheckMs=200'],
    })
    const { url } = await own.line('listening')
    const session = await RawSession.open(url, '2025-11-25', bearer(accessOf('cleo')))
    await session.call('resources/subscribe', { uri: 'gateway://instances' })
    await setTeam('cleo', 'lighting')
    const statusOf = async () => (await session.post(rpc('ping'))).status
    await until(async () => (await statusOf()) !== 200, 'the end of the session', 5000)
    expect(await statusOf()).to.equal(404)
    await setTeam('cleo', null)
  })

  it('shows the page of a user what is theirs, until the token of the login is revoked', async () => {
    const hidden = await joinOf('ada', { visible_to: 'owner' })
    const own = await joinOf('ben', { visible_to: 'owner' })
    const { token, id } = await makeToken(accessOf('ben'), ['read'])
    const page = new PageBrowser(base, await useKey(base, token))
    const shown = await idsOf(page)
    expect(shown).to.include(own.id).and.not.include(hidden.id)
    const [, events] = await open(page)
    await caller.call('DELETE', `/tokens/${id}`, accessOf('ben'))
    await events.untilEnded()
    expect(await page.isLoggedIn()).to.equal(false)
    const ofOperator = new PageBrowser(base, await useKey(base, key))
    expect(await idsOf(ofOperator)).to.include.members([own.id, hidden.id])
  })

  it('reads and follows the schemes of the token alone', async () => {
    const own = await joinOf('ben', { visible_to: 'owner', scene: '/shot.blend' })
    own.setScene(sceneOf(1))
    const { token } = await makeToken(accessOf('ben'), ['read:scene'])
    const [session, events] = await open(token)
    expect((await session.call('resources/subscribe', { uri: at(own.id) })).error).to.equal(
      undefined,
    )
    own.setScene(sceneOf(2))
    await events.until(() => events.updates.includes(at(own.id)), 'the update')
    const tool = (name: string, args: object) =>
      session.call('tools/call', { name, arguments: { instance: own.id, ...args } })
    const allowed = [
      await session.call('resources/read', { uri: at(own.id) }),
      await tool('query_scene', {}),
      await tool('read_resource', { uri: 'scene://current' }),
      await tool('wait_for_change', { uris: ['scene://current'], timeout_s: 1 }),
    ]
    expect(JSON.stringify(allowed)).to.not.include('may not read')
    const audit = at(own.id, 'audit/recent')
    const refused = [
      session.call('resources/read', { uri: audit }),
      session.call('resources/subscribe', { uri: audit }),
      tool('read_resource', { uri: 'audit://recent' }),
      tool('read_resource', { uri: 'AUDIT://recent' }),
      tool('read_resource', { uri: audit }),
      tool('read_resource', { uri: 'scene:Cube' }),
      tool('look', {}),
      tool('list_notes', {}),
      tool('list_resources', {}),
      tool('wait_for_change', {}),
      tool('wait_for_change', { uris: ['scene://current', 'audit://recent'] }),
      session.call('tools/call', { name: 'wait_for_change', arguments: { uris: [audit] } }),
      call(token, 'resources/read', { uri: audit }).then(({ json }) => json),
      ask(artefactOf(own.id), { headers: bearer(token) }).then(({ json }) => json.detail),
    ]
    for (const answer of await Promise.all(refused)) {
      expect(JSON.stringify(answer)).to.match(/the token may not read [a-z ]+ of instances/)
    }
    // Another token of the user, whose view is the same.
    const artefacts = await makeToken(accessOf('ben'), ['read:artefact'])
    const [withoutScene] = await open(artefacts.token)
    const listedTo = async (each: RawSession) =>
      JSON.stringify(await each.call('tools/call', { name: 'list_resources', arguments: {} }))
    expect(await listedTo(session)).to.include(at(own.id))
    expect(await listedTo(withoutScene)).to.not.include(at(own.id))
    const unread = await withoutScene.call('resources/read', { uri: at(own.id) })
    expect(JSON.stringify(unread)).to.include('the token may not read scene of instances')
    // The scopes that the refusals name can be given to a token.
    const scopesOf = (answer: unknown) => JSON.stringify(answer).match(/read:\w+/g)
    expect(scopesOf(await tool('list_resources', {}))).to.equal(null)
    expect(scopesOf(await tool('read_resource', { uri: 'app://x' }))).to.equal(null)
    expect(scopesOf(await tool('look', {}))).to.deep.equal(['read:capture'])
  })

  it('refuses tokens without the scope read, unknown and revoked ones, and no token', async () => {
    const { token } = await makeToken(accessOf('ben'), ['publish'])
    const statuses = [token, users.ben?.join ?? '', `svc_${'x'.repeat(40)}`, 'x.y.z', 'word', '']
    const answers = await Promise.all(statuses.map(each => call(each, 'resources/list')))
    expect(answers.map(({ status }) => status)).to.deep.equal([403, 403, 401, 401, 401, 401])
    expect(answers[0]?.headers['www-authenticate']).to.include('scope="read"')
    for (const { headers } of answers.slice(4)) {
      expect(headers['www-authenticate'])
        .to.include('token of the accounts server')
        .and.include('service-cli token create NAME --scope read')
        .and.not.include('API key')
    }
    const revoked = await makeToken(accessOf('ben'), ['read'])
    await caller.call('DELETE', `/tokens/${revoked.id}`, accessOf('ben'))
    const { status, headers } = await call(revoked.token, 'resources/list')
    expect(status).to.equal(401)
    expect(headers['www-authenticate']).to.include(
      'error_description="the service token was revoked or never existed; create a new one"',
    )
  })

  it('goes on with known tokens while its accounts server is away', async () => {
    const away = await accountsInProcess()
    const token = (await createCaller(away.url).register('dora')).access_token
    const second = gatewayInProcess({
      port: 0,
      registryDir: join(folder, 'second'),
      flags: [...gatewayFlags().with(2, away.url), '--auth', 'accounts'],
    })
    const { url } = await second.line('listening')
    expect((await callAt(url, token, 'resources/list')).status).to.equal(200)
    await away.stop()
    expect((await callAt(url, token, 'resources/list')).status).to.equal(200)
    const unknown = await callAt(url, `svc_${'x'.repeat(40)}`, 'resources/list')
    expect([unknown.status, unknown.headers['retry-after']]).to.deep.equal([503, '5'])
  })

  it('shows users of an OAuth provider what is visible to all, and nothing else', async () => {
    const signing = await newKey('signing')
    const provider = await OpenIdServer.start([signing])
    const third = gatewayInProcess({
      port: 0,
      registryDir: join(folder, 'gateway-of-oauth'),
      flags: [...gatewayFlags(), '--auth', 'oauth', '--oauth-issuer', provider.issuer],
    })
    const { url } = await third.line('listening')
    const to = new URL(url).origin
    const record = (visible_to: string) => ({ visible_to })
    const token = users.ada?.join ?? ''
    const shown = await joinInstance({ gateway: to, token, record: record('all') })
    const hidden = await joinInstance({ gateway: to, token, record: record('team') })
    const access = await provider.token(url, 'mcp:read')
    const session = await RawSession.open(url, '2025-11-25', bearer(access))
    const { instances } = await session.readJson('gateway://instances')
    expect(instances.map((row: any) => row.instance_id)).to.deep.equal([shown.id])
    await Promise.all([shown.leave(), hidden.leave()])
    await third.stop()
    await provider.stop()
  })

  it('refuses --auth accounts without an accounts server, and on serve', async () => {
    const env = cleanEnv({ HOME: folder, XDG_CONFIG_HOME: folder })
    const refused = await runCommand(['gateway', '--auth', 'accounts'], { env })
    expect([refused.code, refused.stderr]).to.deep.include(2)
    expect(refused.stderr).to.include('--accept-joins URL')
    const serve = await runCommand(['serve', '--auth', 'accounts'], { env })
    expect(serve.code).to.equal(2)
  })
})
