import { expect } from 'chai'
import { setTimeout as delay } from 'node:timers/promises'
import { type Studio, startStudio } from '../studio/studio.ts'
import { until } from '../helpers/until.ts'

const cutMs = 60_000

describe('a link that is silent for 60 s, in a studio with its own times', () => {
  let studio: Studio
  before(async function () {
    studio = await startStudio(this)
  })
  after(() => studio?.stop())

  it('makes its instance stale, and every subscriber ends with its last state', async () => {
    const instance = studio.instances[1]
    if (instance === undefined) throw new Error('no instance')
    const { uri, machine } = instance
    const [gateway, other] = studio.gateways
    const isLive = async () => (await studio.rowOf(instance, gateway))?.health === 'live'
    const agents = studio.agents(['session', 'stateless'])
    const agree = (value: number, what: string) =>
      until(() => agents.every(({ values }) => values.get(uri) === value), what, 120_000)
    await until(isLive, 'the instance')
    await instance.set(1)
    await agree(1, 'the first state')
    studio.network.silence(machine)
    const cut = delay(cutMs)
    await instance.set(2)
    for (const at of [gateway, other]) {
      const health = async () => (await studio.rowOf(instance, at))?.health
      await until(async () => (await health()) === 'stale', 'the loss')
    }
    const { reason } = await studio.rowOf(instance)
    expect(reason).to.include('nothing came for 25 s')
    await cut
    expect((await studio.rowOf(instance)).health).to.equal('stale')
    studio.network.mend(machine)
    await agree(2, 'the last state')
    await until(isLive, 'the instance is back')
    await instance.set(3)
    await agree(3, 'a further change')
    for (const { seen } of agents) console.log(`      ${seen.join(' · ')}`)
  })
})
