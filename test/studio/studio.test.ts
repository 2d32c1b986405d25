import { expect } from 'chai'
import { setTimeout as delay } from 'node:timers/promises'
import { ask, Events } from '../helpers/mcp.ts'
import { statelessHeaders, statelessRequest } from '../helpers/stateless.ts'
import { until } from '../helpers/until.ts'
import { type Studio, type StudioInstance, startStudio } from './studio.ts'

/** A client that reads what it follows after each update, and listens again when its stream ends. */
class Follower {
  /** What it read last. */
  readonly values = new Map<string, unknown>()
  updates = 0
  readonly #studio: Studio
  readonly #key: string
  readonly #uris: readonly string[]
  readonly #dirty = new Set<string>()
  readonly #running: Promise<void>
  #events: Events | null = null
  #seen = 0
  #isClosed = false

  constructor(studio: Studio, key: string) {
    this.#studio = studio
    this.#key = key
    this.#uris = studio.instances.map(({ uri }) => uri)
    this.#running = this.#run()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#running
    this.#events?.close()
  }

  async #run(): Promise<void> {
    while (!this.#isClosed) {
      // Without a gateway it is tried again.
      await this.#step().catch(() => {})
      await delay(50)
    }
  }

  async #step(): Promise<void> {
    if (this.#events?.ended !== false) {
      const params = { notifications: { resourceSubscriptions: this.#uris } }
      const [url, headers, body] = this.#request('subscriptions/listen', params)
      this.#events = await Events.open(url, headers, body)
      this.#seen = 0
      for (const uri of this.#uris) this.#dirty.add(uri)
    }
    const { updates } = this.#events
    for (const uri of updates.slice(this.#seen)) this.#dirty.add(uri)
    this.updates += updates.length - this.#seen
    this.#seen = updates.length
    for (const uri of this.#dirty) await this.#read(uri)
  }

  async #read(uri: string): Promise<void> {
    const [url, headers, body] = this.#request('resources/read', { uri })
    const { json } = await ask(url, { method: 'POST', headers, body })
    if (json.result === undefined) return
    this.#dirty.delete(uri)
    this.values.set(uri, JSON.parse(json.result.contents[0].text).value)
  }

  #request(method: string, params: Record<string, unknown>) {
    const headers = { ...statelessHeaders(method, params), Authorization: `Bearer ${this.#key}` }
    const body = JSON.stringify(statelessRequest(method, params))
    return [`${this.#studio.base}/mcp`, headers, body] as const
  }
}

describe('a studio: two gateways behind nginx, and three instances', function () {
  this.timeout(120_000)
  let studio: Studio
  let followers: Follower[]
  let value = 0

  before(async function () {
    studio = await startStudio(this)
    for (const instance of studio.instances) {
      for (const gateway of studio.gateways) {
        await until(
          async () => (await studio.rowOf(instance, gateway))?.health === 'live',
          `${instance.name} is live at both gateways`,
        )
      }
    }
    followers = studio.keys.map(key => new Follower(studio, key))
  })
  after(async () => {
    await Promise.all((followers ?? []).map(follower => follower.close()))
    await studio?.stop()
  })

  /** Every client has read that the instance has this value. */
  const agree = (
    { uri, name }: StudioInstance,
    expected: number,
    deadlineMs = 90_000,
  ): Promise<void> =>
    until(
      () => followers.every(({ values }) => values.get(uri) === expected),
      `${expected} of ${name}`,
      deadlineMs,
    )
  /** Changes every scene, and waits until every client has read it. */
  async function converge(deadlineMs?: number): Promise<void> {
    value++
    for (const { set } of studio.instances) await set(value)
    await Promise.all(studio.instances.map(instance => agree(instance, value, deadlineMs)))
  }

  it('reads and pushes every instance through either gateway', async () => {
    await converge()
    const before = followers.map(({ updates }) => updates)
    await converge()
    for (const [at, { updates }] of followers.entries()) {
      expect(updates).to.be.greaterThan(before[at] ?? 0)
    }
  })

  // The last: nginx sends clients back to a gateway some time after it has started again.
  it('goes on after kill -9 of a gateway, and when it is back', async () => {
    const [killed, other] = studio.gateways
    if (killed === undefined) throw new Error('no gateway')
    await killed.process.kill()
    for (const instance of studio.instances) {
      expect((await studio.rowOf(instance, other)).health).to.equal('live')
    }
    // The other one serves every client and every instance within this time.
    await converge(5000)
    await studio.restart(killed)
    for (const instance of studio.instances) {
      const health = async () => (await studio.rowOf(instance, killed))?.health
      await until(async () => (await health()) === 'live', `${instance.name} joins again`)
    }
    await converge()
  })
})
