import { expect } from 'chai'
import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import tls from 'node:tls'
import { createCaller, quickLimits } from '../helpers/accounts-caller.ts'
import { type AccountsProcess, startAccountsProcess } from '../helpers/accounts-process.ts'
import { type Cable, openCable } from '../helpers/cable.ts'
import { makePair, type Pair, writePair } from '../helpers/certificate.ts'
import { freePort } from '../helpers/free-port.ts'
import { type GatewayProcess, startGatewayProcess } from '../helpers/gateway-process.ts'
import { runCommand } from '../helpers/in-process.ts'
import { joinAs, toldRecord, withRecord } from '../helpers/hostile-instance.ts'
import { ask, type Events, postHeaders, RawSession, rpc } from '../helpers/mcp.ts'
import { contentsOf } from '../helpers/scripted-instance.ts'
import { type ServeProcess, startServeProcess } from '../helpers/serve-process.ts'
import { callStateless } from '../helpers/stateless.ts'
import { until } from '../helpers/until.ts'
import { type Postgres, startPostgres } from './postgres.ts'

const key = 'the-key-of-the-operator'
const sceneOf = (x: number) => ({ document: { name: 'shot.blend' }, objects: [{ id: 'Cube', x }] })

/** One of several gateways, which the others reach over a cable. */
interface Replica {
  readonly process: GatewayProcess
  readonly base: string
  readonly port: number
  readonly cable: Cable
}

/** Its certificate, and the authorities that it trusts. */
interface ReplicaTls {
  readonly flags: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

describe('several gateways on one database', () => {
  let postgres: Postgres
  let folder: string
  let accounts: AccountsProcess
  let caller: ReturnType<typeof createCaller>
  let database: string
  /** Access tokens, and service tokens of the scope `instance`. */
  const users: Record<string, string> = {}
  const tokens: Record<string, { id: string; token: string }> = {}
  const replicas: Replica[] = []
  const started: ServeProcess[] = []

  before(async function () {
    postgres = await startPostgres(this)
    folder = await mkdtemp(join(tmpdir(), 'gateways-'))
    accounts = await startAccountsProcess({ flags: quickLimits })
    caller = createCaller(accounts.url)
    for (const name of ['ada', 'ben']) {
      users[name] = (await caller.register(name)).access_token
      tokens[name] = await makeToken(name)
    }
  })
  after(async () => {
    await accounts?.stop()
    await postgres?.remove()
    if (folder !== undefined) await rm(folder, { recursive: true, force: true })
  })
  beforeEach(async () => {
    database = await postgres.schema()
  })
  afterEach(async () => {
    await Promise.all(started.splice(0).map(serve => serve.stop()))
    for (const { process, cable } of replicas.splice(0)) {
      cable.close()
      await process.kill()
    }
  })

  const makeToken = async (user: string) =>
    (
      await caller.call('POST', '/tokens', users[user], {
        name: `${user}-${randomUUID()}`,
        scopes: ['instance'],
      })
    ).json

  interface ReplicaOptions {
    readonly auth?: string
    readonly secure?: ReplicaTls
  }
  async function startReplica(
    bounds: string[] = [],
    { auth = 'none', secure }: ReplicaOptions = {},
  ): Promise<Replica> {
    const port = await freePort()
    const cable = await openCable(port)
    const scheme = secure === undefined ? 'http' : 'https'
    const all = ['gatewayRenewMs=200', 'gatewayLeaseMs=600', 'peerProbeMs=200', ...bounds]
    const process = startGatewayProcess({
      port,
      registryDir: join(folder, String(port)),
      env: { ...(auth !== 'none' && { SERVICE_MCP_API_KEY: key }), ...secure?.env },
      flags: [
        '--aggregate',
        '--accept-joins',
        accounts.url,
        '--auth',
        auth,
        '--database',
        database,
        '--peer-url',
        `${scheme}://127.0.0.1:${cable.port}`,
        ...(secure?.flags ?? []),
        ...all.map(bound => `--bound=${bound}`),
      ],
    })
    const replica = { process, base: `${scheme}://127.0.0.1:${port}`, port, cable }
    replicas.push(replica)
    await process.line('listening')
    return replica
  }
  const startTwo = async (bounds?: string[]) =>
    [await startReplica(bounds), await startReplica(bounds)] as const

  async function startJoined(to: string, user = 'ada'): Promise<ServeProcess> {
    const tokenFile = join(folder, `${randomUUID()}.token`)
    await writeFile(tokenFile, tokens[user]?.token ?? '', { mode: 0o600 })
    const serve = await startServeProcess({
      flags: ['--join', to, '--join-token-file', tokenFile, '--dcc-type', 'blender'],
    })
    started.push(serve)
    return serve
  }
  const at = (id: string, path = 'scene/current') => `instance://${id}/${path}`
  const read = async ({ base }: Replica, uri: string) =>
    (await callStateless(`${base}/mcp`, 'resources/read', { uri })).json
  const sceneAt = async (replica: Replica, id: string) =>
    (await read(replica, at(id))).result?.contents[0].text
  async function rowOf(replica: Replica, id: string) {
    const { result } = await read(replica, 'gateway://instances?include_dead=true')
    const { instances } = JSON.parse(result.contents[0].text)
    return instances.find((row: any) => row.instance_id === id)
  }
  const isLive = (replica: Replica, id: string) =>
    until(async () => (await rowOf(replica, id))?.health === 'live', `${id} is live`)
  async function follow({ base }: Replica, uri: string): Promise<Events> {
    const session = await RawSession.open(`${base}/mcp`)
    const events = await session.listen()
    await session.call('resources/subscribe', { uri })
    return events
  }
  const updated = (events: Events, uri: string, since = 0) =>
    events.until(() => events.updates.slice(since).includes(uri), 'the update')
  const onDatabase = async (sql: string) => {
    const opened = await postgres.open(database)
    await opened.run('a test', queries => queries.script(sql))
    await opened.close()
  }
  const readyz = async ({ base }: Replica) => (await fetch(`${base}/readyz`)).json() as any

  const post = (url: string, headers: Record<string, string>) =>
    ask(url, { method: 'POST', headers: { ...postHeaders, ...headers }, body: rpc('ping') })

  /** For tests in which no lease may expire: a busy machine renews late. */
  const steady = ['gatewayLeaseMs=30000']

  it('list, read and push an instance of either', async () => {
    const [one, two] = await startTwo(steady)
    const far = await startJoined(one.base)
    await Promise.all([isLive(one, far.instanceId), isLive(two, far.instanceId)])
    const row = await rowOf(two, far.instanceId)
    expect([row.origin, row.joined.owner]).to.deep.equal(['joined', 'ada'])
    await far.post('scene', sceneOf(1))
    expect(JSON.parse(await sceneAt(two, far.instanceId))).to.deep.equal(sceneOf(1))
    const events = await follow(two, at(far.instanceId))
    await far.post('scene', sceneOf(2))
    await updated(events, at(far.instanceId))
    expect(JSON.parse(await sceneAt(two, far.instanceId))).to.deep.equal(sceneOf(2))
    const tool = await callStateless(`${two.base}/mcp`, 'tools/call', {
      name: 'query_scene',
      arguments: { instance: far.instanceId },
    })
    expect(tool.json.result.content.at(-1).text).to.include(far.instanceId.slice(0, 8))
    const bytes = randomBytes(3_000_000)
    const hex = await far.store(bytes)
    const whole = await fetch(`${two.base}/instances/${far.instanceId}/artefacts/sha256/${hex}`)
    expect(Buffer.from(await whole.arrayBuffer()).equals(bytes)).to.equal(true)
    const blob = (await read(two, at(far.instanceId, `artefact/sha256/${hex}`))).result.contents[0]
    expect(Buffer.from(blob.blob, 'base64').equals(bytes)).to.equal(true)
    await far.stop()
    await until(async () => (await rowOf(two, far.instanceId)) === undefined, 'the end')
    const { error } = await read(two, at(far.instanceId))
    expect(error.message).to.include('has ended').and.include('cause: it stopped')
  })

  it('ask each other with their secret alone, and for what they hold', async () => {
    const [one, two] = await startTwo(steady)
    const far = await startJoined(one.base)
    await isLive(two, far.instanceId)
    const path = `/peer/${far.instanceId}/mcp`
    const foreign = { Authorization: `Bearer ${randomBytes(32).toString('base64url')}` }
    for (const headers of [{}, foreign]) {
      expect((await post(`${one.base}${path}`, headers)).status).to.equal(401)
    }
    const opened = await postgres.open(database)
    const rows = await opened.run('a test', queries =>
      queries.rows<{ address: string; secret: string }>('SELECT address, secret FROM gateways'),
    )
    await opened.close()
    const secretOf = ({ cable }: Replica) =>
      rows.find(({ address }) => address.endsWith(`:${cable.port}`))?.secret ?? ''
    const status = async (replica: Replica, secret: string, to = path) => {
      const headers = { Authorization: `Bearer ${secret}` }
      return (await post(`${replica.base}${to}`, headers)).status
    }
    expect(await status(one, secretOf(two))).to.equal(401)
    expect(await status(two, secretOf(two))).to.equal(421)
    expect(await status(one, secretOf(one))).to.not.be.oneOf([401, 421])
    for (const to of ['/join/v1/record', '/host', '/healthz']) {
      expect(await status(one, secretOf(one), `/peer/${far.instanceId}${to}`)).to.equal(404)
    }
  })

  it('give an id to one account, and count the instances of a user together', async () => {
    const [one, two] = await startTwo(['maxJoinsPerUser=2', ...steady])
    const ids = [randomUUID(), randomUUID(), randomUUID()]
    const token = tokens.ada?.token ?? ''
    const open = (replica: Replica, id = '', as = token) =>
      joinAs(replica.base, as, withRecord(toldRecord(id)))
    const first = await open(one, ids[0])
    await open(two, ids[1])
    await Promise.all([isLive(one, ids[1] ?? ''), isLive(two, ids[0] ?? '')])
    const third = await open(two, ids[2])
    expect((await third.link.ended).reason).to.include('the user has 2 instances')
    const thief = await open(two, ids[0], tokens.ben?.token)
    expect((await thief.link.ended).reason).to.equal('its id is that of another user')
    first.link.close(1001, 'stopped')
    await until(async () => (await rowOf(two, ids[0] ?? '')) === undefined, 'the end')
    const later = await open(two, ids[0], tokens.ben?.token)
    expect((await later.link.ended).code).to.equal(4001)
  })

  it('keep as many instances of a user that have ended as the user may have', async () => {
    const one = await startReplica(['maxJoinsPerUser=2'])
    const opened = await postgres.open(database)
    const ended = async (): Promise<string[]> => {
      const sql = 'SELECT instance_id AS id FROM joined_instances WHERE is_over'
      const rows = await opened.run('a test', queries => queries.rows<{ id: string }>(sql))
      return rows.map(({ id }) => id)
    }
    const join = async () => {
      const id = randomUUID()
      const { link } = await joinAs(one.base, tokens.ada?.token ?? '', withRecord(toldRecord(id)))
      await isLive(one, id)
      return { id, link }
    }
    for (let round = 0; round < 5; round++) {
      const { id, link } = await join()
      link.close(1001, 'the instance stops')
      await until(async () => (await ended()).includes(id), 'the end')
    }
    await join()
    expect(await ended()).to.have.length(2)
    await opened.close()
  })

  it('let an instance move, and its first link is closed', async () => {
    const [one, two] = await startTwo()
    const id = randomUUID()
    const open = (replica: Replica) =>
      joinAs(replica.base, tokens.ada?.token ?? '', withRecord(toldRecord(id)))
    const first = await open(one)
    await isLive(two, id)
    await open(two)
    expect(await first.link.ended).to.deep.equal({ code: 1001, reason: 'a newer link replaced it' })
    await Promise.all([isLive(one, id), isLive(two, id)])
  })

  it('know what becomes of the user and the token of an instance whose link is lost', async () => {
    const [one, two] = await startTwo(['joinTokenCheckMs=200'])
    const { id: tokenId, token } = await makeToken('ben')
    const id = randomUUID()
    const { socket } = await joinAs(one.base, token, withRecord(toldRecord(id)))
    await isLive(two, id)
    socket.destroy()
    const both = (told: string, isTold: (row: any) => boolean) =>
      until(async () => {
        const rows = await Promise.all([one, two].map(replica => rowOf(replica, id)))
        return rows.every(isTold)
      }, told)
    await both('the loss', row => row.health === 'stale')
    const setTeam = ['registry', 'users', 'set-team', 'ben', '--data-dir', accounts.dataDir]
    await runCommand([...setTeam, 'fx'])
    await both('the team', row => row.health === 'stale' && row.joined.team === 'fx')
    await caller.call('DELETE', `/tokens/${tokenId}`, users.ben)
    await both('the end', row => row === undefined)
    await runCommand([...setTeam, '--none'])
  })

  it('know within the lease that one was killed, and its instances join another', async () => {
    const [one, two] = await startTwo()
    const cable = await openCable(one.port)
    const far = await startJoined(`http://127.0.0.1:${cable.port}`)
    await isLive(two, far.instanceId)
    await far.post('scene', sceneOf(1))
    const uri = at(far.instanceId)
    const events = await follow(two, uri)
    await one.process.kill()
    await until(async () => (await rowOf(two, far.instanceId))?.health === 'stale', 'the loss')
    expect((await rowOf(two, far.instanceId)).reason).to.include('its gateway is away')
    const { error } = await read(two, uri)
    expect([error.data.reason, error.message.includes('away')]).to.deep.equal([
      'instance_unreachable',
      true,
    ])
    await far.post('scene', sceneOf(2))
    const before = events.updates.length
    // The name of the gateways now leads to the other one.
    cable.close()
    const again = await openCable(two.port, cable.port)
    await isLive(two, far.instanceId)
    await updated(events, uri, before)
    expect(JSON.parse(await sceneAt(two, far.instanceId))).to.deep.equal(sceneOf(2))
    again.close()
  })

  it('serve what they know while the database is away, and refuse to let instances join', async () => {
    const [one, two] = await startTwo()
    const far = await startJoined(one.base)
    await Promise.all([isLive(one, far.instanceId), isLive(two, far.instanceId)])
    const uri = at(far.instanceId)
    const events = await follow(two, uri)
    expect((await readyz(one)).database).to.deep.equal({ state: 'connected' })
    postgres.stop('immediate')
    try {
      for (const replica of [one, two]) {
        await until(async () => (await readyz(replica)).database.state === 'away', 'the outage')
        expect((await readyz(replica)).database.reason).to.match(/refused|connection|in time/)
      }
      await far.post('scene', sceneOf(2))
      await updated(events, uri)
      expect(JSON.parse(await sceneAt(one, far.instanceId))).to.deep.equal(sceneOf(2))
      expect(JSON.parse(await sceneAt(two, far.instanceId))).to.deep.equal(sceneOf(2))
      expect((await rowOf(two, far.instanceId)).health).to.equal('live')
      const refused = await joinAs(two.base, tokens.ada?.token ?? '', () => {}).catch(
        (error: Error) => error.message,
      )
      expect(refused).to.match(/^HTTP 503.*the database of the gateway is away/)
    } finally {
      postgres.start()
    }
    await until(async () => (await readyz(two)).database.state === 'connected', 'the database')
    const later = await startJoined(one.base)
    await isLive(two, later.instanceId)
    expect((await rowOf(two, far.instanceId)).health).to.equal('live')
  })

  it('write down what happened while the database was away', async () => {
    const [one, two] = await startTwo()
    const [left, stays] = await Promise.all([startJoined(one.base), startJoined(one.base)])
    await Promise.all([isLive(two, left.instanceId), isLive(two, stays.instanceId)])
    const setAt = async (replica: Replica) => (await rowOf(replica, stays.instanceId)).scene_set_at
    expect(await setAt(two)).to.equal(null)
    postgres.stop('immediate')
    try {
      await until(async () => (await readyz(one)).database.state === 'away', 'the outage')
      await left.stop()
      await until(async () => (await rowOf(one, left.instanceId)) === undefined, 'the end')
      await stays.post('scene', sceneOf(1))
      await until(async () => (await setAt(one)) !== null, 'the scene')
    } finally {
      postgres.start()
    }
    await until(async () => (await rowOf(two, left.instanceId)) === undefined, 'the end')
    await until(async () => (await setAt(two)) !== null, 'the scene')
  })

  it('say which of them cannot be reached, and notify once when it is back', async () => {
    const [one, two] = await startTwo()
    const far = await startJoined(one.base)
    await isLive(two, far.instanceId)
    await far.post('scene', sceneOf(1))
    const uri = at(far.instanceId)
    const events = await follow(two, uri)
    one.cable.silence()
    await until(async () => {
      const { error } = await read(two, uri)
      return error?.message.includes('through its gateway: ') === true
    }, 'the partition')
    const { error } = await read(two, uri)
    expect(error.data.reason).to.equal('instance_unreachable')
    expect(JSON.parse(await sceneAt(one, far.instanceId))).to.deep.equal(sceneOf(1))
    await far.post('scene', sceneOf(2))
    const before = events.updates.length
    one.cable.mend()
    await updated(events, uri, before)
    expect(JSON.parse(await sceneAt(two, far.instanceId))).to.deep.equal(sceneOf(2))
    await far.post('scene', sceneOf(3))
    await until(() => events.updates.slice(before).length === 2, 'the next update')
  })

  it('reach each other over TLS when they trust the certificates, and else say why not', async () => {
    const [shared, strange] = [makePair(), makePair({ names: ['strange', '127.0.0.1'] })]
    const trusted = tls.getCACertificates('default')
    tls.setDefaultCACertificates([...trusted, shared.cert, strange.cert])
    const replicaOf = async (pair: Pair) => {
      const { certFile, keyFile } = await writePair(await mkdtemp(join(folder, 'tls-')), pair)
      const flags = ['--tls-cert', certFile, '--tls-key', keyFile]
      return startReplica([], { secure: { flags, env: { NODE_EXTRA_CA_CERTS: authority } } })
    }
    const authority = join(folder, 'authority.pem')
    await writeFile(authority, shared.cert)
    const [one, two, other] = [
      await replicaOf(shared),
      await replicaOf(shared),
      await replicaOf(strange),
    ]
    const joinTo = async ({ base }: Replica) => {
      const id = randomUUID()
      const answer = withRecord(toldRecord(id), async (req, res) => {
        const asked = JSON.parse(Buffer.concat(await req.toArray()).toString())
        res.writeHead(200).end(contentsOf('scene://current', 'seen', asked.id))
      })
      const { link } = await joinAs(base, tokens.ada?.token ?? '', answer)
      await isLive(one, id)
      return { id, link }
    }
    try {
      const [near, far] = [await joinTo(two), await joinTo(other)]
      expect(await sceneAt(one, near.id)).to.equal('seen')
      const said = () => one.process.stderr()
      await until(() => said().includes('gateway cannot be reached'), 'two failed probes')
      const { error } = await read(one, at(far.id))
      expect(error.data.reason).to.equal('instance_unreachable')
      expect(error.message).to.match(/through its gateway: .*certificate/)
      for (const { link } of [near, far]) link.close(1001, 'the instance stops')
    } finally {
      tls.setDefaultCACertificates(trusted)
    }
  })

  it('take over again what the others thought lost, and it can be reached at once', async () => {
    // Only notices let them write.
    const [one, two] = await startTwo(['gatewayRenewMs=60000', 'gatewayLeaseMs=600000'])
    const far = await startJoined(one.base)
    await isLive(two, far.instanceId)
    await onDatabase(`UPDATE joined_instances SET gateway = NULL, cause = 'its gateway is away',
      lost_at = now(), change = nextval('joined_changes');
      DELETE FROM gateways; SELECT pg_notify('joined_instances', '')`)
    await until(async () => {
      const events = await eventsOf(two, far.instanceId)
      return events.some(([event]) => event === 'instance_recovered')
    }, 'it is back')
    await isLive(two, far.instanceId)
    expect(await sceneAt(two, far.instanceId)).to.not.equal(undefined)
  })

  interface RingEvent {
    readonly event: string
    readonly dcc_type: string
    readonly instance_id: string
    readonly reason?: string
  }
  const ringText = async (replica: Replica): Promise<string> =>
    (await read(replica, 'resources://gateway/events')).result.contents[0].text
  const parsed = (text: string): RingEvent[] =>
    text
      .split('\n')
      .filter(line => line !== '')
      .map(line => JSON.parse(line))
  const eventsOf = async (replica: Replica, id: string) =>
    parsed(await ringText(replica))
      .filter(({ instance_id }) => instance_id === id.slice(0, 8))
      .map(({ event, reason }) => [event, reason])
  /** Once all gateways have the same, and this is in it. */
  async function sameEvents(all: readonly Replica[], isThere: (text: string) => boolean) {
    let texts: string[] = []
    await until(async () => {
      texts = await Promise.all(all.map(ringText))
      return isThere(texts[0] ?? '') && new Set(texts).size === 1
    }, 'the same events at all gateways')
    return parsed(texts[0] ?? '')
  }

  it('have one ring of events, which survives them', async () => {
    const [one, two] = await startTwo()
    const far = await startJoined(one.base)
    await isLive(two, far.instanceId)
    await far.stop()
    const before = await sameEvents([one, two], text => text.includes('instance_gone'))
    expect(before.filter(({ dcc_type }) => dcc_type === 'blender')).to.have.length(2)
    expect(await eventsOf(two, far.instanceId)).to.deep.equal([
      ['instance_appeared', 'its link is open'],
      ['instance_gone', 'it stopped'],
    ])
    await one.process.stop()
    await two.process.stop()
    const three = await startReplica()
    const after = await sameEvents([three], text => text.includes('instance_gone'))
    const kinds = after.map(({ event }) => event)
    expect(after.slice(0, before.length)).to.deep.equal(before)
    expect(kinds.slice(before.length).toSorted()).to.deep.equal([
      'election_won',
      'voluntary_yield',
      'voluntary_yield',
    ])
  })

  it('tell once what each of them sees of a gateway that was killed', async () => {
    const [one, two] = await startTwo()
    const three = await startReplica()
    const far = await startJoined(one.base)
    await Promise.all([isLive(two, far.instanceId), isLive(three, far.instanceId)])
    await one.process.kill()
    await sameEvents([two, three], text => text.includes('instance_stale'))
    for (const replica of [two, three]) {
      expect(await eventsOf(replica, far.instanceId)).to.deep.equal([
        ['instance_appeared', 'its link is open'],
        ['instance_stale', 'its link is lost: its gateway is away'],
      ])
    }
  })

  it('tell while the database is away what they see themselves, and all the rest afterwards', async () => {
    const [one, two] = await startTwo()
    const far = await startJoined(one.base)
    await isLive(two, far.instanceId)
    await sameEvents([one, two], text => text.includes('instance_appeared'))
    const local = join(folder, String(two.port), 'instances', `${randomUUID()}.json`)
    postgres.stop('immediate')
    try {
      for (const replica of [one, two]) {
        await until(async () => (await readyz(replica)).database.state === 'away', 'the outage')
      }
      await far.stop()
      await writeFile(local, 'not a record')
      await until(async () => (await ringText(one)).includes('instance_gone'), 'the end')
      await until(async () => (await ringText(two)).includes('record_fault'), 'the fault')
      for (const replica of [one, two]) {
        expect(await ringText(replica)).to.include('instance_appeared')
      }
      expect(await ringText(two)).to.not.include('instance_gone')
    } finally {
      postgres.start()
    }
    const all = await sameEvents(
      [one, two],
      text => text.includes('record_fault') && text.includes('instance_gone'),
    )
    const kinds = all.map(({ event }) => event).toSorted()
    expect(kinds).to.deep.equal([
      'election_won',
      'election_won',
      'instance_appeared',
      'instance_gone',
      'record_fault',
    ])
  })

  it('show users the events of their own instances alone', async () => {
    const one = await startReplica([], { auth: 'accounts' })
    const two = await startReplica([], { auth: 'accounts' })
    const sessions = await Promise.all(
      [users['ada'], users['ben'], key].map(token =>
        RawSession.open(`${two.base}/mcp`, '2025-11-25', { Authorization: `Bearer ${token}` }),
      ),
    )
    const texts = () =>
      Promise.all(
        sessions.map(async session => {
          const { result } = await session.call('resources/read', {
            uri: 'resources://gateway/events',
          })
          return String(result.contents[0].text)
        }),
      )
    const untilBothHave = (event: string) =>
      until(async () => {
        const [ada, , operator] = await texts()
        return [ada, operator].every(text => text?.includes(event))
      }, `${event} for the owner and the operator`)
    const far = await startJoined(one.base)
    await untilBothHave('instance_appeared')
    await far.stop()
    await untilBothHave('instance_gone')
    const [ada, ben, operator] = (await texts()).map(text => parsed(text))
    expect(ada?.map(({ event }) => event)).to.deep.equal(['instance_appeared', 'instance_gone'])
    expect(ben).to.deep.equal([])
    expect(operator?.map(({ event }) => event)).to.include('election_won')
  })

  it('tell once of an instance that joins, at the gateway that has its link, too', async () => {
    // Only notices let it read again.
    const one = await startReplica(['gatewayRenewMs=60000', 'gatewayLeaseMs=600000'])
    for (let round = 0; round < 12; round++) {
      const id = randomUUID()
      const { link } = await joinAs(one.base, tokens.ada?.token ?? '', withRecord(toldRecord(id)))
      await isLive(one, id)
      await until(async () => (await eventsOf(one, id)).length > 0, 'the event')
      expect(await eventsOf(one, id)).to.have.length(1)
      link.close(1000, 'over')
      await until(async () => (await eventsOf(one, id)).length === 2, 'the end')
    }
  })

  describe('when a token is revoked', () => {
    let token: { id: string; token: string }
    beforeEach(async () => (token = await makeToken('ada')))
    const revoke = () => caller.call('DELETE', `/tokens/${token.id}`, users.ada)
    /** Runs `action` while this lock is held. */
    async function holding(lock: string, action: () => Promise<unknown>): Promise<void> {
      const opened = await postgres.open(database)
      try {
        await opened.transact('a test', async queries => {
          await queries.rows(lock)
          await action()
        })
      } finally {
        await opened.close()
      }
    }

    it('show nothing of an instance that was about to join with it', async () => {
      const one = await startReplica()
      const id = randomUUID()
      await holding('LOCK TABLE joined_ids IN ACCESS EXCLUSIVE MODE', async () => {
        const { link } = await joinAs(one.base, token.token, withRecord(toldRecord(id)))
        await revoke()
        expect((await link.ended).code).to.equal(4003)
      })
      await until(async () => (await eventsOf(one, id)).length === 2, 'what became of it')
      expect((await eventsOf(one, id)).at(-1)).to.deep.equal([
        'instance_gone',
        'its token was revoked or has expired',
      ])
      expect(await rowOf(one, id)).to.equal(undefined)
    })

    it('show nothing of a lost instance again while that is written down', async () => {
      const one = await startReplica()
      const id = randomUUID()
      const { socket } = await joinAs(one.base, token.token, withRecord(toldRecord(id)))
      await isLive(one, id)
      socket.destroy()
      const isGone = async () => (await rowOf(one, id)) === undefined
      await until(async () => (await rowOf(one, id))?.health === 'stale', 'the loss')
      const mark = async (text: string) => {
        await onDatabase(`INSERT INTO gateway_events (event, dcc_type, instance_id)
          VALUES ('record_fault', 'unknown', '${text}'); SELECT pg_notify('joined_instances', '')`)
        await until(async () => (await ringText(one)).includes(text), 'a further look')
      }
      await mark('settled-1')
      await mark('settled-2')
      await holding('LOCK TABLE joined_instances IN EXCLUSIVE MODE', async () => {
        await revoke()
        await until(isGone, 'the end')
        await mark('meanwhile-1')
        await mark('meanwhile-2')
        expect(await isGone()).to.equal(true)
      })
      await until(async () => (await ringText(one)).includes('its token was revoked'), 'the event')
      expect(await isGone()).to.equal(true)
    })
  })

  it('keep as many events as they may', async () => {
    const [one, two] = await startTwo(['maxGatewayEvents=3'])
    for (let round = 0; round < 3; round++) {
      const far = await startJoined(one.base)
      await isLive(two, far.instanceId)
      await far.stop()
      const id = far.instanceId
      await until(async () => (await eventsOf(two, id)).length === 2, 'its two events')
    }
    const all = await sameEvents([one, two], text => text.split('\n').length === 4)
    expect(all.map(({ event }) => event)).to.deep.equal([
      'instance_gone',
      'instance_appeared',
      'instance_gone',
    ])
    const opened = await postgres.open(database)
    const { n } = await opened.one<{ n: number }>(
      'a test',
      'SELECT count(*) AS n FROM gateway_events',
    )
    await opened.close()
    expect(n).to.equal(3)
  })
})
