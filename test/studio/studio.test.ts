import { expect } from 'chai'
import { setTimeout as delay } from 'node:timers/promises'
import { FollowingClient } from '../nightly/following-client.ts'
import { until } from '../helpers/until.ts'
import { type Studio, type StudioInstance, startStudio } from './studio.ts'

describe('a studio: two gateways behind nginx, and three instances', function () {
  this.timeout(120_000)
  let studio: Studio
  let clients: FollowingClient[]
  let running: Promise<unknown>
  let isOver = false
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
    clients = studio.keys.map(key => {
      const headers = { Authorization: `Bearer ${key}` }
      return new FollowingClient(`${studio.base}/mcp`, 'stateless', headers)
    })
    for (const client of clients) for (const { uri } of studio.instances) client.follow(uri)
    const follow = async (client: FollowingClient) => {
      while (!isOver) {
        await client.step()
        await delay(50)
      }
    }
    running = Promise.all(clients.map(follow))
  })
  after(async () => {
    isOver = true
    await running
    await Promise.all((clients ?? []).map(client => client.close()))
  })

  /** Every client has read that the instance has this value. */
  const agree = (
    { uri, name }: StudioInstance,
    expected: number,
    deadlineMs = 90_000,
  ): Promise<void> =>
    until(
      () => clients.every(({ followed }) => followed.get(uri)?.value === expected),
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
    const before = clients.map(({ updates }) => updates)
    await converge()
    for (const [at, { updates }] of clients.entries()) {
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
