import { expect } from 'chai'
import { skipBecause } from '../../helpers/skip.ts'
import { openRecordsOnDisk, type RecordsOnDisk } from './records-on-disk.ts'
import { makeRecord } from './support.ts'

const day = 24 * 60 * 60 * 1000

describe('the life of an instance, judged by its record', () => {
  let at: RecordsOnDisk
  beforeEach(async () => (at = await openRecordsOnDisk()))
  afterEach(() => at.close())

  const register = () => at.register(makeRecord())

  it('ends in death after a crash, and is listed so until its record is removed', async () => {
    const { id, owner, remove } = await at.registerOwned()
    expect(await at.healthOf(id)).to.equal('live')
    const heard = at.listen()
    await owner.kill()
    await at.pass(500)
    expect((await at.find(id)).verdict).to.include({
      health: 'dead',
      reason: `its process ${owner.pid} has ended`,
    })
    await at.pass(60_000)
    expect(await at.healthOf(id)).to.equal('dead')
    await remove()
    await at.directory.refresh()
    expect(heard).to.deep.equal([['changed'], ['gone']])
  })

  it('is not that of a later process with the same id', async function () {
    if (process.platform !== 'linux') skipBecause(this, 'needs Linux')
    const { id } = await at.register(makeRecord({ pid_start: 'another-boot:1' }))
    expect((await at.find(id)).verdict.reason).to.include('another process now has')
  })

  it('is not judged by processes on other machines', async () => {
    const { id } = await at.register(makeRecord({ pid: 2 ** 22 + 5, hostname: 'another-machine' }))
    await at.pass(5000)
    expect((await at.find(id)).verdict).to.include({
      health: 'live',
      reason: 'its heartbeat is fresh; its process is on another machine',
    })
  })

  it('is stale 30 s after the last heartbeat, and live with the next one', async () => {
    const { id, beat } = await register()
    expect(await at.healthOf(id)).to.equal('live')
    const heard = at.listen()
    await at.pass(29_000)
    expect(await at.healthOf(id)).to.equal('live')
    await at.pass(2000)
    expect(heard, 'told without being asked').to.deep.equal([['changed']])
    const { reason, health } = (await at.find(id)).verdict
    expect(health).to.equal('stale')
    expect(reason).to.match(/^no heartbeat for more than 30 s, though its process \d+ runs$/)
    await beat()
    expect(await at.healthOf(id)).to.equal('live')
  })

  it('goes on while its heart beats, which changes nothing but the age', async () => {
    const { beat } = await register()
    await at.directory.refresh()
    const heard = at.listen()
    const { entries } = at.directory
    const age = () => entries[0]?.verdict.heartbeatAgeMs
    for (let beats = 0; beats < 8; beats++) {
      await at.pass(5000)
      expect(age()).to.be.at.least(5000)
      await beat(beats)
      await at.directory.refresh()
      expect(age()).to.equal(0)
    }
    expect(at.directory.entries).to.equal(entries)
    expect(heard).to.deep.equal([])
  })

  it('is not doubted because the directory itself was stopped', async () => {
    const { id } = await register()
    expect(await at.healthOf(id)).to.equal('live')
    await at.freeze(60 * 60 * 1000)
    await at.pass(2000)
    expect(await at.healthOf(id)).to.equal('live')
  })

  it('goes on for a beating heart whose process cannot be seen from here', async () => {
    const { id, beat, owner } = await at.registerOwned()
    await at.directory.refresh()
    // Before the death: it does not count as a heartbeat after it.
    await beat(1)
    await owner.kill()
    await at.pass(500)
    expect(await at.healthOf(id)).to.equal('dead')
    await beat(2)
    expect(await at.healthOf(id), 'one touch is no heartbeat').to.equal('dead')
    await beat(3)
    expect(await at.healthOf(id)).to.equal('live')
    await at.pass(31_000)
    expect(await at.healthOf(id)).to.equal('dead')
  })

  describe('and the time of day', () => {
    for (const shiftMs of [day, -day]) {
      const way = shiftMs > 0 ? 'forward' : 'back'
      it(`changes no verdict when it is set ${way} here`, async () => {
        const { id } = await register()
        expect(await at.healthOf(id)).to.equal('live')
        at.setTimeOfDay(shiftMs)
        await at.pass(20_000)
        expect(await at.healthOf(id)).to.equal('live')
        await at.pass(11_000)
        expect(await at.healthOf(id)).to.equal('stale')
      })

      it(`changes no verdict when it is set ${way} where the instance runs`, async () => {
        const { id, beat } = await register()
        for (let beats = 0; beats < 8; beats++) {
          await at.pass(5000)
          await beat(shiftMs)
          expect(await at.healthOf(id)).to.equal('live')
        }
        await at.pass(31_000)
        expect(await at.healthOf(id)).to.equal('stale')
      })
    }

    it('makes an old record stale at first sight, until its heart beats', async () => {
      const { id, beat } = await register()
      await beat(-31_000)
      const other = await at.again()
      expect(other.entries[0]?.verdict).to.include({ health: 'stale', heartbeatAgeMs: null })
      expect(other.entries[0]?.verdict.reason).to.include('when it was first seen')
      await beat()
      await other.refresh()
      expect(other.entries[0]?.verdict.health).to.equal('live')
      expect(other.entries[0]?.record.instanceId).to.equal(id)
      await other.close()
      // One that comes from the future is not stale.
      await beat(day)
      const third = await at.again()
      expect(third.entries[0]?.verdict).to.include({ health: 'live', heartbeatAgeMs: 0 })
      await third.close()
    })
  })
})
