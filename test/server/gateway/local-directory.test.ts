import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { chmod, chown, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { createServer, type RequestListener } from 'node:http'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { instanceFile } from '../../../src/lib/instances/state-directory.ts'
import type { InstanceRecord } from '../../../src/lib/instances/record.ts'
import { silentLogger } from '../../../src/lib/util/logger.ts'
import { LocalDirectory } from '../../../src/server/gateway/local-directory.ts'
import { probeUrl } from '../../../src/server/gateway/probes.ts'
import { newFolder } from '../../helpers/cleanup.ts'
import { skipBecause } from '../../helpers/skip.ts'
import { until } from '../../helpers/until.ts'
import { makeRecord, startOwner } from './support.ts'
import { listening } from '../../helpers/listening.ts'

describe('LocalDirectory', () => {
  let folder: string
  let directory: LocalDirectory
  /** Kinds of the changes, of each time. */
  let told: string[][]

  beforeEach(() => (folder = newFolder()))
  afterEach(async () => {
    await directory.close()
  })

  async function open(options: { isGateway?: boolean; probeMs?: number; reapMs?: number } = {}) {
    directory = await LocalDirectory.open({ instancesDir: folder, log: silentLogger, ...options })
    told = []
    directory.onChange(changes => told.push(changes.map(({ kind }) => kind)))
  }
  /** Returns the id. */
  async function write(changes: Partial<InstanceRecord> = {}, ageMs = 0): Promise<string> {
    const record = makeRecord(changes)
    const path = instanceFile(folder, record.instance_id, 'json')
    await writeFile(path, JSON.stringify(record))
    await beat(record.instance_id, ageMs)
    return record.instance_id
  }
  async function beat(id: string, ageMs = 0): Promise<void> {
    const at = (Date.now() - ageMs) / 1000
    await utimes(instanceFile(folder, id, 'json'), at, at)
  }
  const remove = (id: string) => rm(instanceFile(folder, id, 'json'))
  const ids = () => directory.entries.map(({ record }) => record.instance_id)
  const faults = () => directory.faults.map(({ source, reason }) => `${source}: ${reason}`)
  const verdict = (id: string) =>
    directory.entries.find(({ record }) => record.instance_id === id)?.verdict
  const isIt = (id: string, health: string) =>
    until(() => verdict(id)?.health === health, `it is ${health}`)

  it('sees by itself what appears, changes and goes', async () => {
    await open()
    const id = await write()
    await until(() => ids().length === 1, 'it appeared')
    await write({ instance_id: id, scene: 'b' })
    await until(() => directory.entries[0]?.record.scene === 'b', 'it changed')
    await remove(id)
    await until(() => ids().length === 0, 'it is gone')
    expect(told).to.deep.equal([['appeared'], ['changed'], ['gone']])
  })

  it('lists by the time of the start, and takes a heartbeat for no change', async () => {
    await write({ started_at: '2026-01-05T00:00:00Z' })
    const first = await write({ started_at: '2026-01-03T00:00:00Z' })
    await open()
    expect(ids()[0]).to.equal(first)
    await beat(first, 10_000)
    await directory.refresh()
    expect(Date.now() - Number(verdict(first)?.heartbeatMs)).to.be.at.least(10_000)
    expect(told).to.deep.equal([])
  })

  it('uses a folder only while others cannot change it', async function () {
    if (process.platform === 'win32') skipBecause(this, 'needs POSIX')
    const id = await write()
    await open()
    await chmod(folder, 0o777)
    await directory.refresh()
    expect([ids(), faults()]).to.deep.equal([
      [],
      ['instances: the folder is not used: others can change it'],
    ])
    await chmod(folder, 0o700)
    await directory.refresh()
    expect([ids(), faults()]).to.deep.equal([[id], []])
  })

  describe('names as a fault, beside a good record,', () => {
    const strange: [what: string, make: (path: string) => unknown, reason: string][] = [
      ['a symbolic link', path => symlink('/dev/zero', path), 'it is not a plain file'],
      ['a pipe', path => execFileSync('mkfifo', [path]), 'it is not a plain file'],
      ['a giant', path => writeFile(path, Buffer.alloc(70_000)), 'it is larger than 65536 bytes'],
      ['what is no record', path => writeFile(path, '{}'), 'schema_version'],
      ['half a record', path => writeFile(path, '{"schema'), 'it is not valid JSON'],
      [
        'a record of another instance',
        path => writeFile(path, JSON.stringify(makeRecord())),
        'instance_id: is that of another instance',
      ],
    ]
    it('what is no plain file with a record', async function () {
      if (process.platform === 'win32') skipBecause(this, 'needs POSIX')
      const good = await write()
      await writeFile(join(folder, `${good}.token`), 'secret')
      await open()
      for (const [what, make, reason] of strange) {
        const name = `${randomUUID()}.json`
        await make(join(folder, name))
        await directory.refresh()
        expect(ids(), what).to.deep.equal([good])
        expect(faults(), what).to.have.length(1)
        expect(faults()[0]).to.include(`${name}: `).and.include(reason)
        await rm(join(folder, name))
        await directory.refresh()
        expect(faults(), what).to.deep.equal([])
      }
    })

    it('one of another user', async function () {
      if (process.getuid?.() !== 0) skipBecause(this, 'only root can give a file to somebody else')
      const id = await write()
      await chown(instanceFile(folder, id, 'json'), 65534, 65534)
      await open()
      expect(ids()).to.deep.equal([])
      expect(faults()).to.deep.equal([`${id}.json: it belongs to another user (uid 65534)`])
    })
  })

  describe('calls an instance', () => {
    it('dead when its process has ended, and gone when its record is removed', async () => {
      const owner = await startOwner()
      const id = await write({ pid: owner.pid, pid_start: owner.pidStart })
      await open()
      expect(verdict(id)).to.include({
        health: 'live',
        reason: `its heartbeat is fresh; its process ${owner.pid} runs`,
      })
      await owner.kill()
      await isIt(id, 'dead')
      expect(verdict(id)?.reason).to.equal(`its process ${owner.pid} has ended`)
      await remove(id)
      await directory.refresh()
      expect(told).to.deep.equal([['changed'], ['gone']])
    })

    it('stale 30 s after its last heartbeat, and live with the next one', async () => {
      const id = await write({}, 31_000)
      await open()
      expect(verdict(id)).to.include({
        health: 'stale',
        reason: `no heartbeat for more than 30 s; its process ${process.pid} runs`,
      })
      await beat(id)
      await isIt(id, 'live')
    })

    it('on another machine live by its heartbeat alone', async () => {
      const record = { pid: 2 ** 22 + 5, hostname: 'another-machine' }
      const [live, stale] = [await write(record), await write(record, 31_000)]
      await open()
      expect(verdict(live)).to.include({
        health: 'live',
        reason: 'its heartbeat is fresh; it runs on another machine',
      })
      expect(verdict(stale)?.health).to.equal('stale')
    })
  })

  describe('of a gateway', () => {
    const closing: (() => unknown)[] = []
    afterEach(() => closing.splice(0).forEach(close => close()))

    async function answering(listener: RequestListener): Promise<Partial<InstanceRecord>> {
      const server = createServer(listener)
      const port = await listening(server)
      closing.push(() => {
        server.closeAllConnections()
        server.close()
      })
      return { host_url: `http://127.0.0.1:${port}/host?secret=1` }
    }

    it('asks /readyz alone, without cookies, credentials or a body', async () => {
      const asked = new Set<string>()
      const address = await answering((request, response) => {
        asked.add(`${request.method} ${request.url} ${Object.keys(request.headers)}`)
        response.end('{}')
      })
      await write(address)
      await open({ isGateway: true, probeMs: 10 })
      await until(() => asked.size > 0, 'a probe')
      expect([...asked]).to.deep.equal(['GET /readyz accept,user-agent,host,connection'])
    })

    it('calls one unhealthy that fails twice, stale when it falls silent, and live when it is back', async () => {
      let status = 503
      const id = await write(
        await answering((_request, response) => void response.writeHead(status).end()),
      )
      await open({ isGateway: true, probeMs: 10 })
      await isIt(id, 'unhealthy')
      expect(verdict(id)?.reason).to.equal('it is not ready: /readyz answered 503')
      await beat(id, 31_000)
      await isIt(id, 'stale')
      status = 200
      await beat(id)
      await isIt(id, 'live')
      expect(told).to.deep.equal([['changed'], ['changed'], ['changed']])
    })

    it('calls those unhealthy that hang up or redirect', async () => {
      const failing: [listener: RequestListener, reason: RegExp][] = [
        [request => request.socket.destroy(), /cannot be asked \(ECONNRESET\)$/],
        [(_, response) => response.writeHead(302, { location: '/' }).end(), /302$/],
      ]
      const all = await Promise.all(failing.map(async ([each]) => write(await answering(each))))
      await open({ isGateway: true, probeMs: 10 })
      for (const [at, [, reason]] of failing.entries()) {
        await isIt(all[at]!, 'unhealthy')
        expect(verdict(all[at]!)?.reason).to.match(reason)
      }
    })

    it('closes although an instance does not answer, and asks others meanwhile', async () => {
      let asked = 0
      await write(await answering(() => void asked++))
      const id = await write({ host_url: 'http://127.0.0.1:1/host' })
      await open({ isGateway: true, probeMs: 10 })
      await until(() => asked === 1, 'the probe')
      expect(verdict(id)?.health).to.equal('live')
      await directory.close()
      expect(asked).to.equal(1)
    })

    it('removes the record of a dead process, long after its last heartbeat', async () => {
      const record = { pid: 2 ** 22 + 5 }
      const [recent, old] = [await write(record), await write(record, 11 * 60_000)]
      await open({ isGateway: true, reapMs: 10 })
      await until(() => ids().length === 1, 'it is removed')
      expect([ids(), verdict(old), told]).to.deep.equal([[recent], undefined, [['gone']]])
    })
  })
})

describe('probeUrl', () => {
  const here = hostname()
  const none = 'it has no http address of this machine alone'
  const joined = { accountId: 'a', owner: 'a', team: null, name: 'a', visibility: 'all' } as const
  const table: [given: Parameters<typeof probeUrl>[0], asked: string][] = [
    [{ hostname: here, host_url: 'http://127.0.0.1:1/host' }, 'http://127.0.0.1:1/readyz'],
    [{ hostname: here, host_url: 'http://u:p@[::1]:1/host?a#b' }, 'http://[::1]:1/readyz'],
    [{ hostname: here, host_url: 'http://localhost/host' }, 'http://localhost/readyz'],
    [{ hostname: here, host_url: 'http://169.254.169.254/latest' }, none],
    [{ hostname: here, host_url: 'https://127.0.0.1:1/host' }, none],
    [{ hostname: here, host_url: '' }, none],
    [{ hostname: 'far', host_url: 'http://127.0.0.1:1/host' }, 'it runs on another machine'],
    [{ hostname: here, host_url: 'http://127.0.0.1:1/host', joined }, 'it answers over its link'],
  ]
  it('is /readyz of an address of this machine, and none else', () => {
    for (const [given, asked] of table) {
      const found = probeUrl(given)
      expect(found.ok ? found.value.href : found.failure).to.equal(asked)
    }
  })
})
