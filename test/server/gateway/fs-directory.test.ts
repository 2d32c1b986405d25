import { execFileSync, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { chmod, chown, mkdir, mkdtemp, rename, rm, stat } from 'node:fs/promises'
import { symlink, utimes, writeFile } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { monotonicClock, systemClock } from '../../../src/lib/clock.ts'
import { recordFile, tokenFile } from '../../../src/lib/instances/files.ts'
import { silentLogger } from '../../../src/lib/logger.ts'
import { systemTimer } from '../../../src/lib/timer.ts'
import { openFsDirectory } from '../../../src/server/gateway/fs-directory.ts'
import type { InstanceDirectory } from '../../../src/server/gateway/instance-directory.ts'
import { type GatewayLimits, resolveGatewayLimits } from '../../../src/server/gateway/limits.ts'
import { until } from '../../e2e/until.ts'
import { skipBecause } from '../../helpers/skip.ts'
import { type FsDirectoryUnderTest, openFsUnderTest } from './fs-harness.ts'
import { describeInstanceDirectory } from './instance-directory-suite.ts'
import { makeRecord, startOwner } from './support.ts'

describeInstanceDirectory('the folder of instance records', () => openFsUnderTest())

describe('openFsDirectory', () => {
  let under: FsDirectoryUnderTest
  afterEach(() => under.close())

  async function open(limits: Partial<GatewayLimits> = {}): Promise<void> {
    under = await openFsUnderTest(limits)
  }
  const ids = () => under.directory.entries.map(({ record }) => record.instanceId)
  const faults = () => under.directory.faults.map(({ source, reason }) => `${source}: ${reason}`)
  async function add(): Promise<string> {
    const record = makeRecord()
    await writeFile(recordFile(under.folder, record.instance_id), JSON.stringify(record))
    return record.instance_id
  }

  describe('names as a fault, beside a good record,', () => {
    const strange: [what: string, make: (path: string) => unknown, reason: string][] = [
      ['a symbolic link', path => symlink('/dev/zero', path), 'it is a symbolic link'],
      ['a link to nothing', path => symlink('nothing', path), 'it is a symbolic link'],
      ['a pipe', path => execFileSync('mkfifo', [path]), 'it is not a plain file'],
      ['a folder', path => mkdir(path), 'it is not a plain file'],
      ['a giant', path => writeFile(path, Buffer.alloc(2 ** 24)), 'it is larger than 65536 bytes'],
      ['what it must not read', makeUnreadable, process.getuid?.() === 0 ? 'belongs' : 'cannot be'],
    ]
    for (const [what, make, reason] of strange) {
      it(what, async function () {
        if (process.platform === 'win32') skipBecause(this, 'needs POSIX')
        await open()
        const good = await add()
        const name = `${randomUUID()}.json`
        await make(join(under.folder, name))
        await under.directory.refresh()
        expect(ids()).to.deep.equal([good])
        expect(faults()).to.have.length(1)
        expect(faults()[0]).to.include(`${name}: `).and.include(reason)
        await rm(join(under.folder, name), { recursive: true })
        await under.directory.refresh()
        expect(faults()).to.deep.equal([])
      })
    }

    it('a name that is no instance, whatever it says', async () => {
      await open()
      const good = await add()
      await writeFile(join(under.folder, 'notes.json'), JSON.stringify(makeRecord()))
      await writeFile(join(under.folder, '\u001b[2Jname.json'), '')
      await under.directory.refresh()
      expect(ids()).to.deep.equal([good])
      expect(faults()).to.deep.equal([
        'name.json: its name is not an instance id with ".json"',
        'notes.json: its name is not an instance id with ".json"',
      ])
    })
  })

  it('takes no notice of tokens and of records half-written', async () => {
    await open()
    const id = await add()
    await writeFile(tokenFile(under.folder, id), 'secret')
    await writeFile(`${recordFile(under.folder, id)}.12.tmp`, '{')
    await under.directory.refresh()
    expect([ids(), faults()]).to.deep.equal([[id], []])
  })

  it('does not read again what was not touched', async () => {
    await open()
    const id = await add()
    const path = recordFile(under.folder, id)
    await utimes(path, 1_700_000_000, 1_700_000_000)
    await under.directory.refresh()
    const { size } = await stat(path)
    await writeFile(path, 'x'.repeat(size))
    await utimes(path, 1_700_000_000, 1_700_000_000)
    await under.directory.refresh()
    expect([ids(), faults()]).to.deep.equal([[id], []])
    await utimes(path, 1_700_000_001, 1_700_000_001)
    await under.directory.refresh()
    expect([ids(), faults().length]).to.deep.equal([[], 1])
  })

  it('looks at no more records than it may, and says so', async () => {
    await open({ maxRecords: 3 })
    for (let at = 0; at < 5; at++) await add()
    await under.directory.refresh()
    expect(ids()).to.have.length(3)
    expect(faults()).to.deep.equal(['instances: no more than 3 records are looked at'])
    for (const id of ids()) await rm(recordFile(under.folder, id))
    await under.directory.refresh()
    await under.directory.refresh()
    expect([ids().length, faults()]).to.deep.equal([2, []])
  })

  describe('the dead', () => {
    async function addDead(count: number): Promise<void> {
      const owner = await startOwner()
      for (let at = 0; at < count; at++) {
        const { pid, pidStart: pid_start } = owner
        await under.register(makeRecord({ pid, pid_start }))
      }
      await owner.kill()
    }

    it('are listed up to a number, and never at the cost of the living', async () => {
      await open({ maxDeadInstances: 2 })
      await addDead(5)
      const living = await add()
      await under.directory.refresh()
      expect(ids()).to.have.length(3).and.include(living)
    })

    it('are listed for a time, then gone, once', async () => {
      await open({ deadInstanceMs: 60_000 })
      await addDead(1)
      await under.pass(50_000)
      expect(ids()).to.have.length(1)
      const heard: string[] = []
      under.directory.onChange(changes => heard.push(...changes.map(({ kind }) => kind)))
      await under.pass(20_000)
      await under.directory.refresh()
      expect([ids(), heard]).to.deep.equal([[], ['gone']])
    })
  })

  describe('the folder', () => {
    it('may come later, go, and come again', async () => {
      await open()
      const { folder } = under
      await rm(folder, { recursive: true })
      await under.directory.refresh()
      expect([ids(), faults()]).to.deep.equal([[], []])
      for (let time = 0; time < 2; time++) {
        await mkdir(folder, { mode: 0o700 })
        const id = await add()
        await under.directory.refresh()
        expect(ids()).to.deep.equal([id])
        await rm(folder, { recursive: true })
        await under.directory.refresh()
        expect([ids(), faults()]).to.deep.equal([[], []])
      }
    })

    it('is not used when others can change it', async function () {
      if (process.platform === 'win32') skipBecause(this, 'needs POSIX')
      await open()
      const id = await add()
      await under.directory.refresh()
      await chmod(under.folder, 0o777)
      await under.directory.refresh()
      expect(ids()).to.deep.equal([])
      expect(faults()[0]).to.include('others can change it')
      await chmod(under.folder, 0o700)
      await under.directory.refresh()
      expect([ids(), faults()]).to.deep.equal([[id], []])
    })

    it('is not used when it is a link to one', async function () {
      if (process.platform === 'win32') skipBecause(this, 'needs POSIX')
      await open()
      await add()
      await rename(under.folder, `${under.folder}-moved`)
      await symlink(`${under.folder}-moved`, under.folder)
      await under.directory.refresh()
      expect(ids()).to.deep.equal([])
      expect(faults()).to.have.length(1)
      await rm(`${under.folder}-moved`, { recursive: true })
    })
  })
})

/** For root nothing is unreadable, so it becomes somebody else's. */
async function makeUnreadable(path: string): Promise<void> {
  await writeFile(path, JSON.stringify(makeRecord()))
  if (process.getuid?.() === 0) await chown(path, 65534, 65534)
  else await chmod(path, 0)
}

describe('openFsDirectory, by the clock on the wall', () => {
  let folder: string
  let directory: InstanceDirectory
  const closing: (() => Promise<void>)[] = []

  async function open(limits: Partial<GatewayLimits> = {}): Promise<void> {
    folder = await mkdtemp(join(tmpdir(), 'directory-'))
    directory = await openFsDirectory({
      instancesDir: folder,
      hostname: hostname(),
      clock: systemClock,
      ticks: monotonicClock,
      timer: systemTimer,
      limits: resolveGatewayLimits(limits),
      log: silentLogger,
    })
    closing.push(async () => {
      await directory.close()
      await rm(folder, { recursive: true, force: true })
    })
  }
  afterEach(async () => {
    for (const close of closing.splice(0)) await close()
  })

  const script = fileURLToPath(new URL('scripts/instance.ts', import.meta.url))
  async function startInstance(id: string = randomUUID()) {
    const child = spawn(process.execPath, [script, folder, id], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    const exited = once(child, 'exit')
    await once(child.stdout, 'data')
    const end = async (how: () => unknown) => {
      how()
      await exited
    }
    const crash = () => end(() => child.kill('SIGKILL'))
    closing.unshift(crash)
    return { id, crash, leave: () => end(() => child.stdin.end()) }
  }
  const healths = () =>
    new Map(directory.entries.map(({ record, verdict }) => [record.instanceId, verdict.health]))

  it('sees many processes come, crash and leave at once', async () => {
    await open()
    const instances = await Promise.all(Array.from({ length: 9 }, () => startInstance()))
    await until(() => directory.entries.length === 9, 'all are there')
    expect([...new Set(healths().values())]).to.deep.equal(['live'])
    const wrong: string[] = []
    const living = new Set(instances.slice(6).map(({ id }) => id))
    directory.onChange(() => {
      for (const [id, health] of healths()) {
        if (living.has(id) && health !== 'live') wrong.push(`${id} ${health}`)
      }
    })
    await Promise.all([
      ...instances.slice(0, 3).map(instance => instance.crash()),
      ...instances.slice(3, 6).map(instance => instance.leave()),
    ])
    const states = () => instances.map(({ id }) => healths().get(id) ?? 'gone')
    const expected = ['dead', 'gone', 'live'].flatMap(state => Array(3).fill(state))
    await until(() => String(states()) === String(expected), 'the view is right')
    expect(wrong).to.deep.equal([])
  })

  it('hears of changes by events, without the regular look', async () => {
    await open({ recordScanMs: 1_000_000, processCheckMs: 1_000_000 })
    const { id, leave } = await startInstance()
    await until(() => directory.entries.length === 1, 'it appeared')
    expect(directory.entries[0]?.record.instanceId).to.equal(id)
    const beats = () => directory.entries[0]?.verdict.heartbeatAgeMs ?? Infinity
    let most = beats()
    await until(() => {
      const now = beats()
      const beat = now < most
      most = Math.max(most, now)
      return beat
    }, 'a heartbeat is seen')
    await leave()
    await until(() => directory.entries.length === 0, 'it is gone')
  })

  it('looks by itself where no events come', async () => {
    await open({ recordScanMs: 20, recordGatherMs: 1_000_000 })
    const { leave } = await startInstance()
    await until(() => directory.entries.length === 1, 'it appeared')
    await leave()
    await until(() => directory.entries.length === 0, 'it is gone')
  })

  it('keeps its head in a folder in which files come and go all the time', async () => {
    await open({ recordScanMs: 10, processCheckMs: 10, recordGatherMs: 1 })
    const { id } = await startInstance()
    await until(() => directory.entries.length === 1, 'it appeared')
    const lost: string[] = []
    directory.onChange(changes => {
      for (const change of changes) {
        if (change.kind === 'gone' && change.entry.record.instanceId === id) lost.push(id)
      }
    })
    for (let round = 0; round < 300; round++) {
      const record = makeRecord()
      const path = recordFile(folder, record.instance_id)
      await writeFile(`${path}.tmp`, JSON.stringify(record))
      await rename(`${path}.tmp`, path)
      await rm(path)
    }
    await directory.refresh()
    expect(lost).to.deep.equal([])
    expect([...healths()]).to.deep.equal([[id, 'live']])
    expect(directory.faults).to.deep.equal([])
  })
})
