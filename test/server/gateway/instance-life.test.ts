import { expect } from 'chai'
import { skipBecause } from '../../helpers/skip.ts'
import { Scenario, kinds, openTestDirectory } from './fs-harness.ts'

const day = 24 * 60 * 60 * 1000

describe('the life of instances in a directory', () => {
  let at: Scenario
  beforeEach(async () => (at = new Scenario(await openTestDirectory())))
  afterEach(() => at.close())

  describe('life', () => {
    it('ends without a trace for who deregisters', async () => {
      const { registered, owner } = await at.owned()
      await at.directory.refresh()
      await registered.remove()
      await owner.kill()
      await at.directory.refresh()
      expect(at.directory.entries).to.deep.equal([])
      expect(at.directory.faults).to.deep.equal([])
    })

    it('ends in death for who crashes, and is listed so until it is removed', async () => {
      const { record, registered, owner } = await at.owned()
      expect(await at.healthOf(record)).to.equal('live')
      const heard = at.listen()
      await owner.kill()
      await at.under.pass(500)
      expect(await at.verdictOf(record)).to.include({
        health: 'dead',
        reason: `its process ${owner.pid} has ended`,
      })
      expect(kinds(heard.batches)).to.deep.equal([['changed']])
      await at.under.pass(60_000)
      expect(await at.healthOf(record)).to.equal('dead')
      await registered.remove()
      await at.directory.refresh()
      expect(kinds(heard.batches)).to.deep.equal([['changed'], ['gone']])
    })

    it('is not that of a later process with the same id', async function () {
      if (process.platform !== 'linux') skipBecause(this, 'needs Linux')
      const { record } = await at.owned({ pid_start: 'another-boot:1' })
      expect((await at.verdictOf(record)).reason).to.include('another process now has')
    })

    it('is not judged by processes on other machines', async () => {
      const { record, owner } = await at.owned({ hostname: 'another-machine' })
      await owner.kill()
      await at.under.pass(5000)
      expect(await at.verdictOf(record)).to.include({
        health: 'live',
        reason: 'its heartbeat is fresh; its process is on another machine',
      })
    })

    it('is doubtful 30 s after the last heartbeat, and back with the next one', async () => {
      const { record, registered } = await at.owned()
      expect(await at.healthOf(record)).to.equal('live')
      const heard = at.listen()
      await at.under.pass(29_000)
      expect(await at.healthOf(record)).to.equal('live')
      await at.under.pass(2000)
      expect(kinds(heard.batches), 'told without being asked').to.deep.equal([['changed']])
      const { reason, health } = await at.verdictOf(record)
      expect(health).to.equal('stale')
      expect(reason).to.match(/^no heartbeat for more than 30 s, though its process \d+ runs$/)
      await registered.beat()
      expect(await at.healthOf(record)).to.equal('live')
    })

    it('changes nothing of what is listed while only hearts beat, and their age moves', async () => {
      const { registered } = await at.owned()
      await at.directory.refresh()
      const { entries, faults } = at.directory
      const age = () => entries[0]?.verdict.heartbeatAgeMs ?? -1
      await at.under.pass(4000)
      expect(age()).to.be.at.least(4000)
      await registered.beat()
      await at.directory.refresh()
      expect(age()).to.equal(0)
      expect(at.directory.entries).to.equal(entries)
      expect(at.directory.faults).to.equal(faults)
    })

    it('goes on as long as the heart beats', async () => {
      const { record, registered } = await at.owned()
      await at.directory.refresh()
      const heard = at.listen()
      for (let beat = 0; beat < 12; beat++) {
        await at.under.pass(5000)
        await registered.beat()
      }
      expect(await at.healthOf(record)).to.equal('live')
      expect(heard.batches).to.deep.equal([])
    })

    it('is not doubted because the directory itself was stopped', async () => {
      const { record } = await at.owned()
      expect(await at.healthOf(record)).to.equal('live')
      const heard = at.listen()
      await at.under.freeze(60 * 60 * 1000)
      await at.under.pass(2000)
      expect(await at.healthOf(record)).to.equal('live')
      expect(heard.batches).to.deep.equal([])
    })

    it('is unhealthy when its record says unreachable', async () => {
      const { record } = await at.owned({ status: 'unreachable' })
      expect(await at.healthOf(record)).to.equal('unhealthy')
    })

    it('goes on for a beating heart whose process cannot be seen from here', async () => {
      const { record, registered, owner } = await at.owned()
      await owner.kill()
      await at.under.pass(500)
      expect(await at.healthOf(record)).to.equal('dead')
      await registered.beat(1)
      expect(await at.healthOf(record), 'one touch is no heartbeat').to.equal('dead')
      await registered.beat(2)
      expect(await at.healthOf(record)).to.equal('live')
      await at.under.pass(31_000)
      expect(await at.healthOf(record)).to.equal('dead')
    })
  })

  it('does not take a heartbeat from before a death for one after it', async () => {
    const { record, registered, owner } = await at.owned()
    await at.directory.refresh()
    await registered.beat(1)
    await owner.kill()
    await at.under.pass(500)
    expect(await at.healthOf(record)).to.equal('dead')
    await registered.beat(2)
    expect(await at.healthOf(record)).to.equal('dead')
  })

  describe('time of day', () => {
    for (const shiftMs of [day, -day]) {
      const way = shiftMs > 0 ? 'forward' : 'back'
      it(`changes no verdict when it is set ${way} here`, async () => {
        const { record } = await at.owned()
        expect(await at.healthOf(record)).to.equal('live')
        const heard = at.listen()
        at.under.setTimeOfDay(shiftMs)
        await at.under.pass(20_000)
        expect(await at.healthOf(record)).to.equal('live')
        await at.under.pass(11_000)
        expect(await at.healthOf(record)).to.equal('stale')
        expect(heard.batches).to.have.length(1)
      })

      it(`changes no verdict when it is set ${way} where the instance runs`, async () => {
        const { record, registered } = await at.owned()
        expect(await at.healthOf(record)).to.equal('live')
        for (let beat = 0; beat < 8; beat++) {
          await at.under.pass(5000)
          await registered.beat(shiftMs)
          expect(await at.healthOf(record)).to.equal('live')
        }
        await at.under.pass(31_000)
        expect(await at.healthOf(record)).to.equal('stale')
      })
    }

    it('makes an old record stale at first sight, until its heart beats', async () => {
      const { record, registered } = await at.owned()
      await registered.beat(-31_000)
      const other = await at.under.again()
      expect(other.entries[0]?.verdict).to.include({ health: 'stale', heartbeatAgeMs: null })
      expect(other.entries[0]?.verdict.reason).to.include('when it was first seen')
      await registered.beat()
      await other.refresh()
      expect(other.entries[0]?.verdict.health).to.equal('live')
      expect(other.entries[0]?.record.instanceId).to.equal(record.instance_id)
      await other.close()
    })

    it('makes no record stale that comes from the future', async () => {
      const { registered } = await at.owned()
      await registered.beat(day)
      const other = await at.under.again()
      expect(other.entries[0]?.verdict).to.include({ health: 'live' })
      expect(other.entries[0]?.verdict.heartbeatAgeMs).to.equal(0)
      await other.close()
    })
  })
})
