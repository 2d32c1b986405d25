import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import {
  chmod,
  chown,
  mkdir,
  mkdtemp,
  rename,
  rm,
  symlink,
  truncate,
  utimes,
  writeFile,
} from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { recordFile, tokenFile } from '../../../src/lib/instances/files.ts'
import { silentLogger } from '../../../src/lib/util/logger.ts'
import { monotonicClock, systemClock, systemTimer } from '../../../src/lib/util/time.ts'
import { openFsDirectory } from '../../../src/server/gateway/fs-directory.ts'
import type { InstanceDirectory } from '../../../src/server/gateway/instance-directory.ts'
import { writeInstance } from '../../helpers/instance-files.ts'
import { skipBecause } from '../../helpers/skip.ts'
import { until } from '../../helpers/until.ts'
import { openRecordsOnDisk, type RecordsOnDisk } from './records-on-disk.ts'
import { makeRecord } from './support.ts'
import { type Bounds, boundsWith } from '../../helpers/bounds.ts'

describe('a directory of instances over a folder of records', () => {
  let at: RecordsOnDisk
  afterEach(() => at.close())

  async function open(limits: Partial<Bounds> = {}): Promise<void> {
    at = await openRecordsOnDisk(limits)
  }
  const ids = () => at.directory.entries.map(({ record }) => record.instanceId)
  const faults = () => at.directory.faults.map(({ source, reason }) => `${source}: ${reason}`)
  async function add(): Promise<string> {
    const record = makeRecord()
    await writeFile(recordFile(at.folder, record.instance_id), JSON.stringify(record))
    return record.instance_id
  }

  describe('lists', () => {
    it('instances in the order of their starts', async () => {
      await open()
      expect([ids(), faults()]).to.deep.equal([[], []])
      const started = []
      for (const day of ['05', '03', '04']) {
        const record = makeRecord({ started_at: `2026-01-${day}T00:00:00Z` })
        started.push((await at.register(record)).id)
      }
      await at.directory.refresh()
      const [first, second, third] = started
      expect(ids()).to.deep.equal([second, third, first])
    })

    it('the identical arrays while nothing changes', async () => {
      await open()
      await add()
      await at.directory.refresh()
      const { entries, faults } = at.directory
      await at.directory.refresh()
      expect(at.directory.entries).to.equal(entries)
      expect(at.directory.faults).to.equal(faults)
    })

    it('no more records than it may, and says so', async () => {
      await open({ maxRecords: 3 })
      for (let count = 0; count < 5; count++) await add()
      await at.directory.refresh()
      expect(ids()).to.have.length(3)
      expect(faults()).to.deep.equal(['instances: no more than 3 records are looked at'])
      for (const id of ids()) await rm(recordFile(at.folder, id))
      await at.directory.refresh()
      await at.directory.refresh()
      expect([ids().length, faults()]).to.deep.equal([2, []])
    })

    it('neither tokens nor records half-written', async () => {
      await open()
      const id = await add()
      await writeFile(tokenFile(at.folder, id), 'secret')
      await writeFile(`${recordFile(at.folder, id)}.12.tmp`, '{')
      await at.directory.refresh()
      expect([ids(), faults()]).to.deep.equal([[id], []])
    })
  })

  describe('tells its listeners', () => {
    it('each change once, and what comes together at once', async () => {
      await open()
      const heard = at.listen()
      const counts: number[] = []
      at.directory.onChange(() => void counts.push(ids().length))
      const first = await at.register(makeRecord())
      await at.register(makeRecord())
      await at.directory.refresh()
      await first.update({ scene: 'b' })
      await at.directory.refresh()
      await first.update({ scene: 'b' })
      await first.beat()
      await at.directory.refresh()
      await first.remove()
      await at.directory.refresh()
      expect(heard).to.deep.equal([['appeared', 'appeared'], ['changed'], ['gone']])
      // They agree with what is listed at that moment.
      expect(counts).to.deep.equal([2, 2, 1])
    })

    it('although one fails, and none that has left', async () => {
      await open()
      at.directory.onChange(() => {
        throw new Error('a broken listener')
      })
      const heard = at.listen()
      let left = 0
      at.directory.onChange(() => void left++)()
      await add()
      await at.directory.refresh()
      expect([heard, left]).to.deep.equal([[['appeared']], 0])
    })

    it('nothing once it is closed', async () => {
      await open()
      const heard = at.listen()
      await at.directory.close()
      await add()
      await at.pass(5000)
      expect(heard).to.deep.equal([])
    })
  })

  describe('names as a fault, beside a good record,', () => {
    const strange: [what: string, make: (path: string) => unknown, reason: string][] = [
      ['a symbolic link', path => symlink('/dev/zero', path), 'it is a symbolic link'],
      ['a pipe', path => execFileSync('mkfifo', [path]), 'it is not a plain file'],
      ['a folder', path => mkdir(path), 'it is not a plain file'],
      ['a giant', makeGiant, 'it is larger than 65536 bytes'],
      ['what is no record', path => writeFile(path, '{}'), 'schema_version'],
    ]
    for (const [what, make, reason] of strange) {
      it(what, async function () {
        if (process.platform === 'win32') skipBecause(this, 'needs POSIX')
        await open()
        const good = await add()
        const name = `${randomUUID()}.json`
        await make(join(at.folder, name))
        await at.directory.refresh()
        expect(ids()).to.deep.equal([good])
        expect(faults()).to.have.length(1)
        expect(faults()[0]).to.include(`${name}: `).and.include(reason)
        await rm(join(at.folder, name), { recursive: true })
        await at.directory.refresh()
        expect(faults()).to.deep.equal([])
      })
    }

    it('a name that is no instance, whatever it says', async () => {
      await open()
      const good = await add()
      await writeFile(join(at.folder, 'notes.json'), JSON.stringify(makeRecord()))
      await writeFile(join(at.folder, '\u001b[2Jname.json'), '')
      await at.directory.refresh()
      expect(ids()).to.deep.equal([good])
      expect(faults()).to.deep.equal([
        'name.json: its name is not an instance id with ".json"',
        'notes.json: its name is not an instance id with ".json"',
      ])
    })

    it('up to a number of records one by one, and the others by their count', async () => {
      await open()
      const good = await add()
      for (let count = 0; count < 103; count++) await at.place(randomUUID(), '{}')
      await at.directory.refresh()
      expect(ids()).to.deep.equal([good])
      expect(faults()).to.have.length(101)
      expect(faults().at(-1)).to.include('3 more records are not understood')
    })
  })

  it('mends the fault of a record that was good before', async () => {
    await open()
    const { id, update } = await at.register(makeRecord())
    await at.directory.refresh()
    const heard = at.listen()
    await at.place(id, '{"schema_version":1')
    await at.directory.refresh()
    expect([ids(), faults().length]).to.deep.equal([[], 1])
    await at.directory.refresh()
    await update({ scene: 'again' })
    await at.directory.refresh()
    expect([ids(), faults()]).to.deep.equal([[id], []])
    expect(heard).to.deep.equal([
      ['gone', 'fault'],
      ['appeared', 'mended'],
    ])
  })

  it("names another user's record as a fault", async function () {
    if (process.getuid?.() !== 0) skipBecause(this, 'only root can give a file to somebody else')
    await open()
    const id = await add()
    await chown(recordFile(at.folder, id), 65534, 65534)
    await at.directory.refresh()
    expect(ids()).to.deep.equal([])
    expect(faults()).to.deep.equal([`${id}.json: it belongs to another user (uid 65534)`])
  })

  describe('lists the dead', () => {
    it('up to a number, and never at the cost of the living', async () => {
      await open({ maxDeadInstances: 2 })
      const { owner } = await at.registerOwned()
      const { pid, pidStart: pid_start } = owner
      for (let count = 0; count < 4; count++) await at.register(makeRecord({ pid, pid_start }))
      await owner.kill()
      const living = await add()
      await at.directory.refresh()
      expect(ids()).to.have.length(3).and.include(living)
    })

    it('for a time, and again when their heart beats after all, as in a container', async () => {
      await open({ deadInstanceMs: 60_000 })
      const { id, beat, owner } = await at.registerOwned()
      await owner.kill()
      await at.pass(50_000)
      expect(ids()).to.deep.equal([id])
      const heard = at.listen()
      await at.pass(20_000)
      await at.directory.refresh()
      expect([ids(), heard]).to.deep.equal([[], [['gone']]])
      for (const shiftMs of [1, 2]) {
        await beat(shiftMs)
        await at.directory.refresh()
      }
      expect(ids()).to.deep.equal([id])
    })
  })

  describe('takes a folder', () => {
    it('that comes later, goes, and comes again', async () => {
      await open()
      for (let time = 0; time < 2; time++) {
        await rm(at.folder, { recursive: true })
        await at.directory.refresh()
        expect([ids(), faults()]).to.deep.equal([[], []])
        await mkdir(at.folder, { mode: 0o700 })
        const id = await add()
        await at.directory.refresh()
        expect(ids()).to.deep.equal([id])
      }
    })

    it('only while others cannot change it', async function () {
      if (process.platform === 'win32') skipBecause(this, 'needs POSIX')
      await open()
      const id = await add()
      await at.directory.refresh()
      await chmod(at.folder, 0o777)
      await at.directory.refresh()
      expect(ids()).to.deep.equal([])
      expect(faults()[0]).to.include('others can change it')
      await chmod(at.folder, 0o700)
      await at.directory.refresh()
      expect([ids(), faults()]).to.deep.equal([[id], []])
    })

    it('not when it is a link to one', async function () {
      if (process.platform === 'win32') skipBecause(this, 'needs POSIX')
      await open()
      await add()
      await rename(at.folder, `${at.folder}-moved`)
      await symlink(`${at.folder}-moved`, at.folder)
      await at.directory.refresh()
      expect(ids()).to.deep.equal([])
      expect(faults()).to.have.length(1)
      await rm(`${at.folder}-moved`, { recursive: true })
    })
  })
})

describe('a directory of instances, by the clock on the wall', () => {
  let registryDir: string
  let directory: InstanceDirectory

  async function open(limits: Partial<Bounds>): Promise<void> {
    directory = await openFsDirectory({
      instancesDir: join(registryDir, 'instances'),
      hostname: hostname(),
      clock: systemClock,
      ticks: monotonicClock,
      timer: systemTimer,
      limits: boundsWith(limits),
      log: silentLogger,
    })
  }
  beforeEach(async () => {
    registryDir = await mkdtemp(join(tmpdir(), 'directory-'))
    await mkdir(join(registryDir, 'instances'), { mode: 0o700 })
  })
  afterEach(async () => {
    await directory.close()
    await rm(registryDir, { recursive: true, force: true })
  })

  const count = () => directory.entries.length

  it('hears of changes by events, without the regular look', async () => {
    await open({ recordScanMs: 1_000_000, processCheckMs: 1_000_000 })
    const instance = await writeInstance(registryDir, { heartbeatMs: 1_000_000 })
    await until(() => count() === 1, 'it appeared')
    const beatMs = () => directory.entries[0]?.verdict.heartbeatMs
    await utimes(instance.path, new Date(0), new Date(0))
    await until(() => beatMs() === 0, 'a heartbeat')
    await instance.remove()
    await until(() => count() === 0, 'it is gone')
  })

  it('looks by itself where no events come', async () => {
    await open({ recordScanMs: 20, recordGatherMs: 1_000_000 })
    const instance = await writeInstance(registryDir)
    await until(() => count() === 1, 'it appeared')
    await instance.remove()
    await until(() => count() === 0, 'it is gone')
  })

  it('keeps a living one in a folder in which files come and go all the time', async () => {
    await open({ recordScanMs: 10, processCheckMs: 10, recordGatherMs: 1 })
    const instance = await writeInstance(registryDir)
    const { instance_id: id } = instance.record
    await until(() => count() === 1, 'it appeared')
    const lost: string[] = []
    directory.onChange(changes => {
      for (const change of changes) {
        if (change.kind === 'gone' && change.entry.record.instanceId === id) lost.push(id)
      }
    })
    for (let round = 0; round < 100; round++) {
      const record = makeRecord()
      const path = recordFile(join(registryDir, 'instances'), record.instance_id)
      await writeFile(`${path}.tmp`, JSON.stringify(record))
      await rename(`${path}.tmp`, path)
      await rm(path)
    }
    await directory.refresh()
    expect(lost).to.deep.equal([])
    const healths = directory.entries.map(({ record, verdict }) => [
      record.instanceId,
      verdict.health,
    ])
    expect(healths).to.deep.equal([[id, 'live']])
    expect(directory.faults).to.deep.equal([])
    await instance.remove()
  })
})

async function makeGiant(path: string): Promise<void> {
  await writeFile(path, '')
  await truncate(path, 2 ** 33)
}
