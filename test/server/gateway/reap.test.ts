import { readdir, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { expect } from 'chai'
import { recordFile, tokenFile } from '../../../src/lib/instances/files.ts'
import { silentLogger } from '../../../src/lib/util/logger.ts'
import { startReaper } from '../../../src/server/gateway/reap.ts'
import type { InstanceRecord } from '../../../src/lib/instances/record.ts'
import { ManualTime } from '../../unit/resources/manual-time.ts'
import { openRecordsOnDisk, type RecordsOnDisk } from './records-on-disk.ts'
import { makeRecord, startOwner } from './support.ts'

describe('startReaper', () => {
  const minute = 60_000
  let at: RecordsOnDisk
  let time: ManualTime
  let stop: () => Promise<void>
  let reaped: string[]
  let dead: Pick<InstanceRecord, 'pid' | 'pid_start'>

  before(async () => {
    const owner = await startOwner()
    dead = { pid: owner.pid, pid_start: owner.pidStart }
    await owner.kill()
  })
  beforeEach(async () => {
    at = await openRecordsOnDisk()
    time = new ManualTime()
    reaped = []
    stop = startReaper({
      directory: at.directory,
      instancesDir: at.folder,
      hostname: hostname(),
      ticks: time,
      timer: time,
      limits: { reapAfterMs: 10 * minute, recordScanMs: 2000 },
      log: {
        ...silentLogger,
        info: (fields: { instance?: string }) => reaped.push(fields.instance ?? ''),
      },
    })
  })
  afterEach(async () => {
    await stop()
    await at.close()
  })

  async function place(changes: Partial<InstanceRecord>): Promise<string> {
    const record = makeRecord(changes)
    const { instance_id: id } = record
    await writeFile(recordFile(at.folder, id), JSON.stringify(record))
    await writeFile(tokenFile(at.folder, id), 'secret')
    await at.directory.refresh()
    return id
  }
  /** A sweep is over when it has set its timer again. */
  async function pass(ms: number): Promise<void> {
    time.advance(ms)
    while (time.waiting === 0) await new Promise(resolve => setImmediate(resolve))
  }
  const files = async () => (await readdir(at.folder)).sort()

  it('deletes what a dead process left, after a while, and says so once', async () => {
    const id = await place(dead)
    await pass(2000)
    await pass(10 * minute - 1)
    expect([await files(), reaped]).to.deep.equal([[`${id}.json`, `${id}.token`], []])
    await pass(2000)
    expect([await files(), reaped]).to.deep.equal([[], [id]])
    await at.directory.refresh()
    expect(at.directory.entries).to.deep.equal([])
    await pass(20 * minute)
    expect(reaped).to.deep.equal([id])
  })

  it('keeps the living, the silent, other machines and what is not understood', async () => {
    await place({})
    await place({ ...dead, hostname: 'another-machine' })
    await place({ ...dead, schema_version: 2 as 1 })
    await place({ ...dead, mcp_url: 'nonsense' })
    const before = await files()
    await at.pass(31_000)
    for (const ms of [2000, 10 * minute, 10 * minute]) await pass(ms)
    expect([await files(), reaped]).to.deep.equal([before, []])
  })

  it('keeps a dead one whose heart beats again', async () => {
    const id = await place(dead)
    await pass(2000)
    const { beat } = await at.register(makeRecord({ ...dead, instance_id: id }))
    for (const shiftMs of [1, 2, 3]) {
      await beat(shiftMs)
      await at.directory.refresh()
    }
    await pass(10 * minute)
    await pass(2000)
    expect(await files()).to.include(`${id}.json`)
    expect(reaped).to.deep.equal([])
  })

  it('believes the record as it is when it is to be deleted', async () => {
    const id = await place(dead)
    await pass(2000)
    // Unseen by the directory, which looks only when told.
    await writeFile(recordFile(at.folder, id), JSON.stringify(makeRecord({ instance_id: id })))
    await pass(10 * minute)
    expect(await files()).to.have.length(2)
    expect(reaped).to.deep.equal([])
  })
})
