import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import type {
  InstanceChange,
  InstanceDirectory,
  InstanceEntry,
} from '../../../src/server/gateway/instance-directory.ts'
import type { InstancePatch, InstanceRecord } from '../../../src/server/host/instance-record.ts'
import { skipBecause } from '../../helpers/skip.ts'
import { type Owner, badRecords, makeRecord, startOwner } from './support.ts'

export interface DirectoryUnderTest {
  readonly directory: InstanceDirectory
  /** Lets the watch of the directory go on, which looks meanwhile as often as it ever does. */
  pass(ms: number): Promise<void>
  /** The process of the directory is stopped for so long, then goes on. */
  freeze(ms: number): Promise<void>
  /** Sets the time of day of this machine, by so much against the true one. */
  setTimeOfDay(shiftMs: number): void
  /** Makes an instance known as its server does. */
  register(record: InstanceRecord): Promise<Registered>
  /** Leaves a text in place of the record of this id, as anybody could. */
  place(instanceId: string, text: string): Promise<void>
  /** The same directory as another process has it open. */
  again(): Promise<InstanceDirectory>
  close(): Promise<void>
}

export interface Registered {
  update(patch: InstancePatch): Promise<void>
  /** One sign of life; `shiftMs`: by a clock that goes wrong by so much. */
  beat(shiftMs?: number): Promise<void>
  /** Clean deregistration. */
  remove(): Promise<void>
}

const day = 24 * 60 * 60 * 1000

/** What every directory of instances must do, whatever it is made of. */
export function describeInstanceDirectory(
  name: string,
  open: () => Promise<DirectoryUnderTest>,
): void {
  describe(`${name}, as a directory of instances`, () => {
    let under: DirectoryUnderTest
    let directory: InstanceDirectory
    const owners: Owner[] = []

    beforeEach(async () => {
      under = await open()
      directory = under.directory
    })
    afterEach(async () => {
      await under.close()
      await Promise.all(owners.splice(0).map(owner => owner.kill()))
    })

    async function owned(changes: Partial<InstanceRecord> = {}) {
      const owner = await startOwner()
      owners.push(owner)
      const record = makeRecord({ pid: owner.pid, pid_start: owner.pidStart, ...changes })
      return { owner, record, registered: await under.register(record) }
    }
    async function find(record: InstanceRecord): Promise<InstanceEntry> {
      await directory.refresh()
      const found = directory.entries.find(one => one.record.instanceId === record.instance_id)
      if (found === undefined) throw new Error(`${record.instance_id} is not listed`)
      return found
    }
    const verdictOf = async (record: InstanceRecord) => (await find(record)).verdict
    const healthOf = async (record: InstanceRecord) => (await verdictOf(record)).health
    function listen(): { batches: (readonly InstanceChange[])[]; stop: () => void } {
      const batches: (readonly InstanceChange[])[] = []
      return { batches, stop: directory.onChange(changes => void batches.push(changes)) }
    }
    const kinds = (batches: (readonly InstanceChange[])[]) =>
      batches.map(changes => changes.map(({ kind }) => kind))

    describe('what it lists', () => {
      it('is nothing where nothing is', () => {
        expect(directory.entries).to.deep.equal([])
        expect(directory.faults).to.deep.equal([])
      })

      it('is what an instance says of itself, and not how it is fed', async () => {
        const { record } = await owned()
        const found = await find(record)
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
        expect(JSON.stringify(directory.entries)).to.not.match(/host\.token|\/host"/)
      })

      it('is in the order of the starts', async () => {
        const ids = []
        for (const day of ['05', '03', '04']) {
          const record = makeRecord({ started_at: `2026-01-${day}T00:00:00Z` })
          await under.register(record)
          ids.push(record.instance_id)
        }
        await directory.refresh()
        const [first, second, third] = ids
        const listed = directory.entries.map(({ record }) => record.instanceId)
        expect(listed).to.deep.equal([second, third, first])
      })

      it('stays the identical array while only hearts beat, and their age moves', async () => {
        const { registered } = await owned()
        await directory.refresh()
        const { entries, faults } = directory
        const age = () => entries[0]?.verdict.heartbeatAgeMs ?? -1
        await under.pass(4000)
        expect(age()).to.be.at.least(4000)
        await registered.beat()
        await directory.refresh()
        expect(age()).to.be.below(4000)
        expect(directory.entries).to.equal(entries)
        expect(directory.faults).to.equal(faults)
      })

      it('is the same for every process that asks', async () => {
        const { record } = await owned()
        const other = await under.again()
        await directory.refresh()
        expect(other.entries.map(entry => entry.record)).to.deep.equal(
          directory.entries.map(entry => entry.record),
        )
        expect(other.entries[0]?.record.instanceId).to.equal(record.instance_id)
        await other.close()
      })
    })

    describe('what it tells', () => {
      it('is each change once, what comes together at once', async () => {
        const heard = listen()
        const first = await owned()
        await owned()
        await directory.refresh()
        await first.registered.update({ scene: 'b' })
        await directory.refresh()
        await first.registered.update({ scene: 'b' })
        await first.registered.beat()
        await directory.refresh()
        await first.registered.remove()
        await directory.refresh()
        expect(kinds(heard.batches)).to.deep.equal([
          ['appeared', 'appeared'],
          ['changed'],
          ['gone'],
        ])
        const [, [changed] = []] = heard.batches
        expect(changed).to.have.nested.property('entry.record.scene', 'b')
      })

      it('agrees with what is listed at that moment', async () => {
        const seen: number[] = []
        directory.onChange(() => void seen.push(directory.entries.length))
        const { registered } = await owned()
        await directory.refresh()
        await registered.remove()
        await directory.refresh()
        expect(seen).to.deep.equal([1, 0])
      })

      it('reaches the others when one listener fails, and nobody who has left', async () => {
        directory.onChange(() => {
          throw new Error('a broken listener')
        })
        const heard = listen()
        const left = listen()
        left.stop()
        await owned()
        await directory.refresh()
        expect(kinds(heard.batches)).to.deep.equal([['appeared']])
        expect(left.batches).to.deep.equal([])
      })

      it('is nothing any more once it is closed', async () => {
        const heard = listen()
        await directory.close()
        await owned()
        await under.pass(5000)
        expect(heard.batches).to.deep.equal([])
      })
    })

    describe('life', () => {
      it('ends without a trace for who deregisters', async () => {
        const { registered, owner } = await owned()
        await directory.refresh()
        await registered.remove()
        await owner.kill()
        await directory.refresh()
        expect(directory.entries).to.deep.equal([])
        expect(directory.faults).to.deep.equal([])
      })

      it('ends in death for who crashes, and is listed so until it is removed', async () => {
        const { record, registered, owner } = await owned()
        expect(await healthOf(record)).to.equal('live')
        const heard = listen()
        await owner.kill()
        await under.pass(500)
        expect(await verdictOf(record)).to.include({
          health: 'dead',
          reason: `its process ${owner.pid} has ended`,
        })
        expect(kinds(heard.batches)).to.deep.equal([['changed']])
        await under.pass(60_000)
        expect(await healthOf(record)).to.equal('dead')
        await registered.remove()
        await directory.refresh()
        expect(kinds(heard.batches)).to.deep.equal([['changed'], ['gone']])
      })

      it('is not that of a later process with the same id', async function () {
        if (process.platform !== 'linux') skipBecause(this, 'needs Linux')
        const { record } = await owned({ pid_start: 'another-boot:1' })
        expect((await verdictOf(record)).reason).to.include("another process's now")
      })

      it('is not judged by processes on other machines', async () => {
        const { record, owner } = await owned({ hostname: 'another-machine' })
        await owner.kill()
        await under.pass(5000)
        expect(await verdictOf(record)).to.include({
          health: 'live',
          reason: 'its heartbeat is fresh; its process is on another machine',
        })
      })

      it('is doubtful 30 s after the last heartbeat, and back with the next one', async () => {
        const { record, registered } = await owned()
        expect(await healthOf(record)).to.equal('live')
        const heard = listen()
        await under.pass(29_000)
        expect(await healthOf(record)).to.equal('live')
        await under.pass(2000)
        expect(kinds(heard.batches), 'told without being asked').to.deep.equal([['changed']])
        const { reason, health } = await verdictOf(record)
        expect(health).to.equal('stale')
        expect(reason).to.match(/^no heartbeat for more than 30 s, though its process \d+ runs$/)
        await registered.beat()
        expect(await healthOf(record)).to.equal('live')
      })

      it('goes on as long as the heart beats', async () => {
        const { record, registered } = await owned()
        await directory.refresh()
        const heard = listen()
        for (let beat = 0; beat < 12; beat++) {
          await under.pass(5000)
          await registered.beat()
        }
        expect(await healthOf(record)).to.equal('live')
        expect(heard.batches).to.deep.equal([])
      })

      it('is not doubted because the directory itself was stopped', async () => {
        const { record } = await owned()
        expect(await healthOf(record)).to.equal('live')
        const heard = listen()
        await under.freeze(60 * 60 * 1000)
        await under.pass(2000)
        expect(await healthOf(record)).to.equal('live')
        expect(heard.batches).to.deep.equal([])
      })

      it('is believed to who says it is unreachable', async () => {
        const { record } = await owned({ status: 'unreachable' })
        expect(await healthOf(record)).to.equal('unhealthy')
      })

      it('goes on for a beating heart whose process cannot be seen from here', async () => {
        const { record, registered, owner } = await owned()
        await owner.kill()
        await under.pass(500)
        expect(await healthOf(record)).to.equal('dead')
        await registered.beat(1)
        expect(await healthOf(record), 'one touch is no heartbeat').to.equal('dead')
        await registered.beat(2)
        expect(await healthOf(record)).to.equal('live')
        await under.pass(31_000)
        expect(await healthOf(record)).to.equal('dead')
      })
    })

    describe('time of day', () => {
      for (const shiftMs of [day, -day]) {
        const way = shiftMs > 0 ? 'forward' : 'back'
        it(`changes no verdict when it is set ${way} here`, async () => {
          const { record } = await owned()
          expect(await healthOf(record)).to.equal('live')
          const heard = listen()
          under.setTimeOfDay(shiftMs)
          await under.pass(20_000)
          expect(await healthOf(record)).to.equal('live')
          await under.pass(11_000)
          expect(await healthOf(record)).to.equal('stale')
          expect(heard.batches).to.have.length(1)
        })

        it(`changes no verdict when it is set ${way} where the instance runs`, async () => {
          const { record, registered } = await owned()
          expect(await healthOf(record)).to.equal('live')
          for (let beat = 0; beat < 8; beat++) {
            await under.pass(5000)
            await registered.beat(shiftMs)
            expect(await healthOf(record)).to.equal('live')
          }
          await under.pass(31_000)
          expect(await healthOf(record)).to.equal('stale')
        })
      }

      it('makes an old record stale at first sight, until its heart beats', async () => {
        const { record, registered } = await owned()
        await registered.beat(-31_000)
        const other = await under.again()
        expect(other.entries[0]?.verdict).to.include({ health: 'stale', heartbeatAgeMs: null })
        expect(other.entries[0]?.verdict.reason).to.include('when it was first seen')
        await registered.beat()
        await other.refresh()
        expect(other.entries[0]?.verdict.health).to.equal('live')
        expect(other.entries[0]?.record.instanceId).to.equal(record.instance_id)
        await other.close()
      })

      it('makes no record stale that comes from the future', async () => {
        const { registered } = await owned()
        await registered.beat(day)
        const other = await under.again()
        expect(other.entries[0]?.verdict).to.include({ health: 'live' })
        expect(other.entries[0]?.verdict.heartbeatAgeMs).to.be.below(5000)
        await other.close()
      })
    })

    describe('records that are none', () => {
      it('hide only themselves, and each is named', async () => {
        const { record } = await owned()
        const id = randomUUID()
        for (const [what, text, reason] of badRecords(id)) {
          await under.place(id, text)
          await directory.refresh()
          expect(directory.faults, what).to.have.length(1)
          expect(directory.faults[0]?.source, what).to.include(id)
          expect(directory.faults[0]?.reason, what).to.include(reason)
          expect(await healthOf(record), what).to.equal('live')
          expect(directory.entries, what).to.have.length(1)
        }
      })

      it('take the place of a good one, and are mended by it', async () => {
        const { record, registered } = await owned()
        await directory.refresh()
        const heard = listen()
        await under.place(record.instance_id, '{"schema_version":1')
        await directory.refresh()
        expect(directory.entries).to.deep.equal([])
        await directory.refresh()
        await registered.update({ scene: 'again' })
        expect(await healthOf(record)).to.equal('live')
        expect(directory.faults).to.deep.equal([])
        expect(kinds(heard.batches)).to.deep.equal([
          ['gone', 'fault'],
          ['appeared', 'mended'],
        ])
      })

      it('are named one by one up to a bound, then counted', async () => {
        const { record } = await owned()
        for (let at = 0; at < 103; at++) await under.place(randomUUID(), '{}')
        expect(await healthOf(record)).to.equal('live')
        expect(directory.faults).to.have.length(101)
        expect(directory.faults.at(-1)?.reason).to.equal('3 more records are not understood')
      })
    })
  })
}
