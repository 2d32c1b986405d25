import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { chmod, chown, mkdir, readdir, rename, rm, stat, truncate } from 'node:fs/promises'
import { symlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { recordFile, tokenFile } from '../../../src/lib/instances/files.ts'
import type { GatewayLimits } from '../../../src/lib/config/gateway-limits.ts'
import { skipBecause } from '../../helpers/skip.ts'
import { type TestDirectory, openTestDirectory } from './fs-harness.ts'
import { makeRecord, startOwner } from './support.ts'

describe('openFsDirectory', () => {
  let under: TestDirectory
  afterEach(() => under.close())

  async function open(limits: Partial<GatewayLimits> = {}): Promise<void> {
    under = await openTestDirectory(limits)
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
      ['a giant', makeGiant, 'it is larger than 65536 bytes'],
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

  it("names another user's record as a fault", async function () {
    if (process.getuid?.() !== 0) skipBecause(this, 'only root can give a file to somebody else')
    await open()
    const id = await add()
    await chown(recordFile(under.folder, id), 65534, 65534)
    await under.directory.refresh()
    expect(ids()).to.deep.equal([])
    expect(faults()).to.deep.equal([`${id}.json: it belongs to another user (uid 65534)`])
  })

  it('names what it may not read, and keeps what it knew of it', async function () {
    if (process.platform === 'win32') skipBecause(this, 'needs POSIX')
    await open()
    const [known, unknown] = [await add(), randomUUID()]
    await withoutPower(under.folder, async () => {
      await under.directory.refresh()
      await writeFile(recordFile(under.folder, unknown), '{}', { mode: 0 })
      await chmod(recordFile(under.folder, known), 0)
      await utimes(recordFile(under.folder, known), 1_700_000_000, 1_700_000_000)
      await under.directory.refresh()
      expect(ids()).to.deep.equal([known])
      const unreadable = [known, unknown].map(id => `${id}.json: it cannot be read (EACCES)`)
      expect(faults()).to.have.members(unreadable)
      await chmod(recordFile(under.folder, known), 0o600)
      await rm(recordFile(under.folder, unknown))
      await under.directory.refresh()
      expect([ids(), faults()]).to.deep.equal([[known], []])
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

  it('finds out that a heart is silent as soon as it checks the processes', async () => {
    await open({ recordScanMs: 1_000_000 })
    const record = makeRecord()
    await under.register(record)
    await under.directory.refresh()
    const health = () => under.directory.entries[0]?.verdict.health
    await under.pass(29_500)
    expect(health()).to.equal('live')
    await under.pass(1500)
    expect(health()).to.equal('stale')
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

    it('are listed again when their heart beats after all, as in a container', async () => {
      await open({ deadInstanceMs: 60_000 })
      const owner = await startOwner()
      const { pid, pidStart: pid_start } = owner
      const record = makeRecord({ pid, pid_start })
      const registered = await under.register(record)
      await owner.kill()
      await under.pass(70_000)
      await under.directory.refresh()
      expect(ids()).to.deep.equal([])
      for (const beat of [1, 2]) {
        await registered.beat(beat)
        await under.directory.refresh()
      }
      expect(ids()).to.deep.equal([record.instance_id])
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

async function makeGiant(path: string): Promise<void> {
  await writeFile(path, '')
  await truncate(path, 2 ** 33)
}

/** For root nothing is unreadable: it becomes nobody for a while, with the folder. */
async function withoutPower(folder: string, work: () => Promise<void>): Promise<void> {
  if (process.geteuid?.() !== 0) return work()
  const nobody = 65534
  for (const path of [folder, ...(await readdir(folder)).map(name => join(folder, name))]) {
    await chown(path, nobody, nobody)
  }
  process.seteuid?.(nobody)
  try {
    await work()
  } finally {
    process.seteuid?.(0)
  }
}
