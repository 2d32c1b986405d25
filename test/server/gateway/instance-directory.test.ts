import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { Scenario, kinds, openTestDirectory } from './fs-harness.ts'
import { badRecords, makeRecord } from './support.ts'

describe('a directory of instances', () => {
  let at: Scenario
  beforeEach(async () => (at = new Scenario(await openTestDirectory())))
  afterEach(() => at.close())

  describe('what it lists', () => {
    it('is nothing where nothing is', () => {
      expect(at.directory.entries).to.deep.equal([])
      expect(at.directory.faults).to.deep.equal([])
    })

    it('is what an instance says of itself, and not how it is fed', async () => {
      const { record } = await at.owned()
      const found = await at.find(record)
      expect(found.record).to.deep.include({
        instanceId: record.instance_id,
        dccType: 'blender',
        scene: '/shots/010/shot.blend',
        metadata: { studio: 'north' },
      })
      expect(found.verdict).to.include({
        health: 'live',
        reason: 'its process runs and its heartbeat is fresh',
      })
      expect(JSON.stringify(at.directory.entries)).to.not.match(/host\.token|\/host"/)
    })

    it('is in the order of the starts', async () => {
      const ids = []
      for (const day of ['05', '03', '04']) {
        const record = makeRecord({ started_at: `2026-01-${day}T00:00:00Z` })
        await at.under.register(record)
        ids.push(record.instance_id)
      }
      await at.directory.refresh()
      const [first, second, third] = ids
      const listed = at.directory.entries.map(({ record }) => record.instanceId)
      expect(listed).to.deep.equal([second, third, first])
    })

    it('stays the identical array while nothing changes', async () => {
      await at.owned()
      await at.directory.refresh()
      const { entries, faults } = at.directory
      await at.directory.refresh()
      expect(at.directory.entries).to.equal(entries)
      expect(at.directory.faults).to.equal(faults)
    })

    it('is the same for every process that asks', async () => {
      const { record } = await at.owned()
      const other = await at.under.again()
      await at.directory.refresh()
      expect(other.entries.map(entry => entry.record)).to.deep.equal(
        at.directory.entries.map(entry => entry.record),
      )
      expect(other.entries[0]?.record.instanceId).to.equal(record.instance_id)
      await other.close()
    })
  })

  describe('what it tells', () => {
    it('is each change once, what comes together at once', async () => {
      const heard = at.listen()
      const first = await at.owned()
      await at.owned()
      await at.directory.refresh()
      await first.registered.update({ scene: 'b' })
      await at.directory.refresh()
      await first.registered.update({ scene: 'b' })
      await first.registered.beat()
      await at.directory.refresh()
      await first.registered.remove()
      await at.directory.refresh()
      expect(kinds(heard.batches)).to.deep.equal([['appeared', 'appeared'], ['changed'], ['gone']])
      const [, [changed] = []] = heard.batches
      expect(changed).to.have.nested.property('entry.record.scene', 'b')
    })

    it('agrees with what is listed at that moment', async () => {
      const seen: number[] = []
      at.directory.onChange(() => void seen.push(at.directory.entries.length))
      const { registered } = await at.owned()
      await at.directory.refresh()
      await registered.remove()
      await at.directory.refresh()
      expect(seen).to.deep.equal([1, 0])
    })

    it('notifies the other listeners when one fails, and none after it unsubscribed', async () => {
      at.directory.onChange(() => {
        throw new Error('a broken listener')
      })
      const heard = at.listen()
      const left = at.listen()
      left.stop()
      await at.owned()
      await at.directory.refresh()
      expect(kinds(heard.batches)).to.deep.equal([['appeared']])
      expect(left.batches).to.deep.equal([])
    })

    it('is nothing any more once it is closed', async () => {
      const heard = at.listen()
      await at.directory.close()
      await at.owned()
      await at.under.pass(5000)
      expect(heard.batches).to.deep.equal([])
    })
  })

  describe('records that are none', () => {
    it('hide only themselves, and each is named', async () => {
      const { record } = await at.owned()
      const id = randomUUID()
      for (const [what, text, reason] of badRecords(id)) {
        await at.under.place(id, text)
        await at.directory.refresh()
        expect(at.directory.faults, what).to.have.length(1)
        expect(at.directory.faults[0]?.source, what).to.include(id)
        expect(at.directory.faults[0]?.reason, what).to.include(reason)
        expect(await at.healthOf(record), what).to.equal('live')
        expect(at.directory.entries, what).to.have.length(1)
      }
    })

    it('take the place of a good one, and are mended by it', async () => {
      const { record, registered } = await at.owned()
      await at.directory.refresh()
      const heard = at.listen()
      await at.under.place(record.instance_id, '{"schema_version":1')
      await at.directory.refresh()
      expect(at.directory.entries).to.deep.equal([])
      await at.directory.refresh()
      await registered.update({ scene: 'again' })
      expect(await at.healthOf(record)).to.equal('live')
      expect(at.directory.faults).to.deep.equal([])
      expect(kinds(heard.batches)).to.deep.equal([
        ['gone', 'fault'],
        ['appeared', 'mended'],
      ])
    })

    it('are named one by one up to a bound, then counted', async () => {
      const { record } = await at.owned()
      for (let count = 0; count < 103; count++) await at.under.place(randomUUID(), '{}')
      expect(await at.healthOf(record)).to.equal('live')
      expect(at.directory.faults).to.have.length(101)
      expect(at.directory.faults.at(-1)?.reason).to.equal('3 more records are not understood')
    })
  })
})
