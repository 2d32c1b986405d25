import { expect } from 'chai'
import { join } from 'node:path'
import { Admin } from '../../src/server/accounts/admin.ts'
import { type RunningAccounts, createCaller } from '../helpers/accounts.ts'
import type { RunningGateway } from '../helpers/gateway-process.ts'
import { accountsInProcess, gatewayInProcess } from '../helpers/in-process-servers.ts'
import { joinInstance, type JoinedInstance } from '../helpers/join.ts'
import { ask, type Events, RawSession } from '../helpers/mcp.ts'
import { randomOf } from '../helpers/fakes.ts'
import { until } from '../helpers/until.ts'
import { newFolder } from '../helpers/cleanup.ts'

const folder = newFolder()

const steps = Number(process.env.ISOLATION_STEPS ?? 1000)
const seed = Number(process.env.FUZZ_SEED ?? Math.floor(Math.random() * 2 ** 31))
const names = ['ada', 'ben', 'cleo', 'dora', 'emil', 'fay']
const teams = ['fx', 'lighting', null]
const visibilities = ['owner', 'team', 'all', 'world']
const maxInstances = 10
const key = 'the-key-of-the-operator'

/** What should be so. */
interface Instance {
  readonly owner: User
  readonly joined: JoinedInstance
  /** Its name, which no other user reads. */
  readonly secret: string
  visible: string
  x: number
}

interface User {
  readonly name: string
  readonly access: string
  readonly join: string
  team: string | null
  token: { readonly id: string; readonly token: string }
  session: RawSession
  events: Events
  /** Ids of instances whose scene the user follows, visible now or not. */
  readonly follows: Set<string>
  /** Ids that were visible in the view of now. */
  readonly seen: Set<string>
  /** Updates that tell of a loss, a gain or an end, and have not come yet. */
  readonly spare: Map<string, number>
  /** Updates that have been looked at. */
  checked: number
}

describe('the isolation of users at a gateway, by a random model', function () {
  this.timeout(20 * 60_000)
  const random = randomOf(seed)
  const one = <Value>(values: readonly Value[]): Value =>
    values[Math.floor(random() * values.length)] as Value
  const users: User[] = []
  const instances = new Map<string, Instance>()
  /** Id → owner. */
  const ended = new Map<string, User>()
  let accounts: RunningAccounts
  let caller: ReturnType<typeof createCaller>
  let gateway: RunningGateway
  let base: string
  let admin: Admin
  let step = 0
  let made = 0
  let operator: RawSession

  before(async () => {
    accounts = await accountsInProcess()
    caller = createCaller(accounts.url)
    admin = await Admin.open({ dataDir: accounts.dataDir })
    gateway = gatewayInProcess({
      port: 0,
      registryDir: join(folder, 'gateway'),
      flags: [
        '--aggregate',
        '--accept-joins',
        accounts.url,
        '--auth',
        'accounts',
        '--bound=joinTokenCheckMs=50',
        '--bound=rejoinMs=100',
      ],
      env: { SERVICE_MCP_API_KEY: key },
    })
    base = new URL((await gateway.line('listening')).url).origin
    operator = await RawSession.open(`${base}/mcp`, '2025-11-25', bearer(key))
    for (const name of names) {
      const { access_token: access } = await caller.register(name)
      const token = await makeToken(access, 'read')
      const { token: joinToken } = await makeToken(access, 'instance')
      const user = { name, access, token, join: joinToken, team: null } as unknown as User
      const sets = { follows: new Set(), seen: new Set(), spare: new Map(), checked: 0 }
      users.push(Object.assign(user, sets, await openStream(user)))
    }
  })
  after(async () => {
    for (const { events } of users) events.close()
    await Promise.all([...instances.values()].map(({ joined }) => joined.leave()))
  })

  const bearer = (token: string) => ({ Authorization: `Bearer ${token}` })
  const makeToken = async (access: string, scope: string) => {
    const { json } = await caller.call('POST', '/tokens', access, { name: scope, scopes: [scope] })
    return json as User['token']
  }
  async function openStream({ token }: Pick<User, 'token'>) {
    const session = await RawSession.open(`${base}/mcp`, '2025-11-25', bearer(token.token))
    return { session, events: await session.listen(), checked: 0 }
  }

  const sees = (user: User, { owner, visible }: Instance) =>
    owner === user ||
    visible === 'all' ||
    (visible === 'team' && owner.team !== null && owner.team === user.team)
  const visibleTo = (user: User) =>
    [...instances].filter(([, instance]) => sees(user, instance)).map(([id]) => id)
  const at = (id: string) => `instance://${id}/scene/current`
  const idOf = (uri: string) => uri.slice('instance://'.length).split('/')[0] ?? ''
  const expectUnknown = (user: User, answer: any) => {
    const text = JSON.stringify(answer)
    expect(text).to.match(/no such instance is known|no instance runs|has ended|not found/i)
    for (const instance of instances.values()) {
      if (!sees(user, instance)) expect(text).to.not.include(instance.secret)
    }
  }

  /** Every update must be of an instance that the user sees, or tell of a loss. */
  const checkUpdates = () => {
    for (const user of users) {
      for (const uri of user.events.updates.slice(user.checked)) {
        user.checked++
        if (!uri.startsWith('instance:')) continue
        const id = idOf(uri)
        const instance = instances.get(id)
        expect(user.follows, `${user.name} does not follow ${id}`).to.include(id)
        if (instance !== undefined && sees(user, instance)) continue
        const spare = user.spare.get(id) ?? 0
        expect(spare, `${user.name} is told of ${id} (step ${step})`).to.be.greaterThan(0)
        user.spare.set(id, spare - 1)
      }
    }
  }
  const listOf = async (session: RawSession): Promise<string[]> => {
    const { instances: rows } = await session.readJson('gateway://instances')
    return rows.map((row: any) => row.instance_id).toSorted()
  }
  /** The gateway has taken a change over, and lists what it should to each. */
  const settled = async () => {
    for (const user of users) {
      const wanted = JSON.stringify(visibleTo(user).toSorted())
      for (const id of visibleTo(user)) user.seen.add(id)
      await until(
        async () => JSON.stringify(await listOf(user.session)) === wanted,
        `the list of ${user.name} in step ${step}`,
      )
    }
    expect(await listOf(operator)).to.deep.equal([...instances.keys()].toSorted())
  }
  /** Runs a change; those who lose or gain an instance that they follow may be told so once. */
  const changing = async (change: () => Promise<void> | void) => {
    const before = new Map(users.map(user => [user, new Set(visibleTo(user))]))
    await change()
    for (const user of users) {
      const now = new Set(visibleTo(user))
      for (const id of user.follows) {
        const had = before.get(user)?.has(id) === true
        if (had === now.has(id)) continue
        // An end is told by the directory, and by the session of the instance.
        const times = instances.has(id) ? 1 : 2
        user.spare.set(id, (user.spare.get(id) ?? 0) + times)
      }
    }
  }
  const reopen = async (user: User) => {
    await user.events.untilEnded()
    checkUpdates()
    Object.assign(user, await openStream(user))
    const follows = [...user.follows]
    user.follows.clear()
    for (const id of follows) await subscribe(user, id)
  }
  const subscribe = async (user: User, id: string) => {
    const answer = await user.session.call('resources/subscribe', { uri: at(id) })
    const instance = instances.get(id)
    if (instance !== undefined && sees(user, instance)) {
      expect(answer.error, JSON.stringify(answer)).to.equal(undefined)
      user.follows.add(id)
    } else expectUnknown(user, answer)
  }

  const anyId = () => one([...instances.keys(), ...[...ended.keys()].slice(-5)])
  /** What happens, as often as its weight says. */
  const often = (weight: number, act: () => Promise<void>) => ({ weight, act })
  const actions = [
    often(30, async () => {
      const [user, id] = [one(users), anyId()]
      const uri = at(random() < 0.3 ? id.slice(0, 8) : id)
      const answer = await user.session.call('resources/read', { uri })
      const instance = instances.get(id)
      if (instance === undefined || !sees(user, instance)) return expectUnknown(user, answer)
      const { text } = answer.result.contents[0]
      expect(JSON.parse(text)).to.deep.equal({ owner: instance.owner.name, x: instance.x })
    }),
    often(10, async () => {
      const user = one(users)
      expect(await listOf(user.session)).to.deep.equal(visibleTo(user).toSorted())
    }),
    often(10, async () => {
      const [user, id] = [one(users), anyId()]
      const answer = await user.session.call('tools/call', {
        name: 'read_resource',
        arguments: { instance: id, uri: 'scene://current' },
      })
      const instance = instances.get(id)
      if (instance === undefined || !sees(user, instance)) return expectUnknown(user, answer)
      const { text } = answer.result.content[0]
      expect(JSON.parse(text)).to.deep.equal({ owner: instance.owner.name, x: instance.x })
    }),
    often(6, async () => {
      const user = one(users)
      const { result } = await user.session.call('completion/complete', {
        ref: { type: 'ref/resource', uri: 'instance://{instance_id}/scene/current' },
        argument: { name: 'instance_id', value: '' },
      })
      expect(result.completion.values.toSorted()).to.deep.equal(visibleTo(user).toSorted())
    }),
    often(6, async () => {
      const user = one(users)
      const text = JSON.stringify([
        await user.session.call('resources/read', { uri: 'server://clients' }),
        await user.session.call('resources/read', { uri: 'gateway://diagnostics/process' }),
        await user.session.call('resources/read', { uri: 'resources://gateway/events' }),
      ])
      for (const { name } of users) {
        if (name !== user.name) expect(text).to.not.include(`user:${name}`)
      }
      for (const id of [...instances.keys(), ...ended.keys()]) {
        if (!user.seen.has(id)) expect(text).to.not.include(id.slice(0, 8))
      }
    }),
    often(6, async () => {
      const [user, id] = [one(users), anyId()]
      const { status, text } = await ask(
        `${base}/instances/${id}/artefacts/sha256/${'0'.repeat(64)}`,
        { headers: bearer(user.token.token) },
      )
      expect(status).to.equal(404)
      const instance = instances.get(id)
      if (instance === undefined || !sees(user, instance)) expectUnknown(user, text)
    }),
    often(12, () => subscribe(one(users), anyId())),
    often(3, async () => {
      const user = one(users)
      const id = one([...user.follows])
      if (id === undefined) return
      await user.session.call('resources/unsubscribe', { uri: at(id) })
      user.follows.delete(id)
    }),
    often(10, async () => {
      const [id, instance] = one([...instances])
      const told = users.filter(user => user.follows.has(id) && sees(user, instance))
      const countOf = ({ events }: User) => events.updates.filter(uri => uri === at(id)).length
      const before = new Map(told.map(user => [user, countOf(user)]))
      instance.x++
      instance.joined.setScene({ owner: instance.owner.name, x: instance.x })
      for (const user of told) {
        const more = () => countOf(user) > (before.get(user) ?? 0)
        await user.events.until(more, `the update of ${user.name} in step ${step}`)
      }
    }),
    often(4, async () => {
      const instance = one([...instances.values()])
      await changing(() => {
        instance.visible = one(visibilities)
        instance.joined.tell({ visible_to: instance.visible })
      })
      await settled()
    }),
    often(1, async () => {
      if (instances.size >= maxInstances) return
      await changing(() => joinOne())
      await settled()
    }),
    often(1, async () => {
      if (instances.size <= 3) return
      const [id, instance] = one([...instances])
      await changing(async () => {
        instances.delete(id)
        ended.set(id, instance.owner)
        await instance.joined.leave()
      })
      await settled()
    }),
    often(0.4, async () => {
      const user = one(users)
      const team = one(teams.filter(team => team !== user.team))
      await changing(async () => {
        await admin.setUser(user.name, { team })
        user.team = team
      })
      // Another team, another view.
      user.seen.clear()
      await reopen(user)
      await settled()
    }),
    often(0.2, async () => {
      const user = one(users)
      const { id, token } = user.token
      await caller.call('DELETE', `/tokens/${id}`, user.access)
      user.token = await makeToken(user.access, 'read')
      await reopen(user)
      for (const id of visibleTo(user)) user.seen.add(id)
      const refused = await ask(`${base}/mcp`, { method: 'GET', headers: bearer(token) })
      expect(refused.status).to.equal(401)
    }),
  ]

  async function joinOne(): Promise<void> {
    // Some come back under the id that they had, for others to see or not.
    const [again, of] = random() < 0.5 ? (one([...ended]) ?? []) : []
    const [owner, visible] = [of ?? one(users), one(visibilities)]
    const secret = `secret ${++made} of ${owner.name};`
    const joined = await joinInstance({
      gateway: base,
      token: owner.join,
      ...(again !== undefined && { id: again }),
      record: { visible_to: visible, display_name: secret },
    })
    joined.setScene({ owner: owner.name, x: 0 })
    ended.delete(joined.id)
    instances.set(joined.id, { owner, joined, secret, visible, x: 0 })
  }

  it(`shows and tells nothing of others, and all of what is theirs, in ${steps} steps of seed ${seed}`, async () => {
    for (let at = 0; at < 5; at++) await joinOne()
    await settled()
    const total = actions.reduce((sum, { weight }) => sum + weight, 0)
    for (step = 1; step <= steps; step++) {
      let drawn = random() * total
      const { act } = actions.find(({ weight }) => (drawn -= weight) < 0) ?? actions[0]!
      await act()
      checkUpdates()
    }
    await settled()
    checkUpdates()
  })
})
