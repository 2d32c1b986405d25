import { expect } from 'chai'
import { until } from '../helpers/until.ts'
import type { Agent } from './agent.ts'
import { type Studio, type StudioInstance, startStudio } from './studio.ts'

/** Links are silent for less long than by default. */
const bounds = ['joinPingMs=1000', 'joinSilenceMs=2500']

describe('a studio: two gateways behind nginx, and instances on three machines', function () {
  this.timeout(120_000)
  let studio: Studio
  let agents: Agent[]
  let value = 0

  before(async function () {
    studio = await startStudio(this, bounds)
    for (const instance of studio.instances) {
      for (const gateway of studio.gateways) {
        await until(
          async () => (await studio.rowOf(instance, gateway))?.health === 'live',
          `${instance.machine} is live at both gateways`,
        )
      }
    }
    agents = studio.agents(['session', 'stateless'])
  })
  after(() => studio?.stop())

  /** Every agent has read that the instance has this value. */
  async function agree({ uri, machine }: StudioInstance, expected: number): Promise<void> {
    const missing = () =>
      agents.flatMap(({ values, seen }, at) =>
        values.get(uri) === expected ? [] : [`agent ${at}: ${seen.slice(-9).join('; ')}`],
      )
    await until(() => missing().length === 0, '', 90_000).catch(() => {
      throw new Error(`${machine} does not have ${expected} for ${missing().join('\n')}`)
    })
  }
  /** Changes every scene, and waits until every agent has read it. */
  async function converge(): Promise<void> {
    value++
    for (const { set } of studio.instances) await set(value)
    await Promise.all(studio.instances.map(instance => agree(instance, value)))
  }
  const seenSince = () => {
    const from = agents.map(({ seen }) => seen.length)
    return () => agents.map(({ seen }, at) => seen.slice(from[at]))
  }
  const instanceOn = (machine: string) => {
    const found = studio.instances.find(instance => instance.machine === machine)
    if (found === undefined) throw new Error(machine)
    return found
  }

  it('reads and pushes every instance through either gateway', async () => {
    await converge()
    const since = seenSince()
    await converge()
    for (const seen of since()) expect(seen).to.include('update').and.to.include('read')
  })

  it('shows an instance with a silent link as stale, and its last state when it is back', async () => {
    const b = instanceOn('b')
    studio.network.silence('b')
    await until(async () => (await studio.rowOf(b)).health === 'stale', 'the loss')
    expect((await studio.rowOf(b)).reason).to.include('nothing came for 2.5 s')
    for (const gateway of studio.gateways) {
      const { error } = await studio.read(b.uri, gateway)
      expect(error.data.reason).to.equal('instance_unreachable')
    }
    await b.set(value + 0.5)
    studio.network.mend('b')
    await agree(b, value + 0.5)
    await converge()
  })

  // The last: nginx sends clients back to a gateway some time after it has started again.
  it('goes on after kill -9 of a gateway, and when it is back', async () => {
    const [killed, other] = studio.gateways
    if (killed === undefined) throw new Error('no gateway')
    await killed.process.kill()
    for (const instance of studio.instances) {
      expect((await studio.rowOf(instance, other)).health).to.equal('live')
    }
    await converge()
    await studio.restart(killed)
    for (const instance of studio.instances) {
      const health = async () => (await studio.rowOf(instance, killed))?.health
      await until(async () => (await health()) === 'live', `${instance.machine} joins again`)
    }
    await converge()
  })
})
