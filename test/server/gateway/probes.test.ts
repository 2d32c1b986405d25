import dns from 'node:dns'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { hostname } from 'node:os'
import { expect } from 'chai'
import { silentLogger } from '../../../src/lib/util/logger.ts'
import { systemClock } from '../../../src/lib/util/time.ts'
import type {
  DirectoryRecord,
  InstanceChange,
  InstanceEntry,
} from '../../../src/server/gateway/instance-directory.ts'
import { createProbedDirectory } from '../../../src/server/gateway/probed-directory.ts'
import { type ProbeResult, Probes, probeUrl } from '../../../src/server/gateway/probes.ts'
import { entry, MemoryDirectory } from '../../helpers/memory-directory.ts'
import { until } from '../../helpers/until.ts'
import { ManualTime } from '../../unit/resources/manual-time.ts'
import { type Bounds, boundsWith } from '../../helpers/bounds.ts'

describe('probeUrl', () => {
  const local = 'http://127.0.0.1:4000'
  const table: [mcpUrl: string, host: string, localUrl: string | null, asked: string | null][] = [
    ['http://127.0.0.1:8765/mcp', 'here', null, 'http://127.0.0.1:8765/readyz'],
    ['http://localhost:1/a/b?c=d', 'here', null, 'http://localhost:1/readyz'],
    ['http://127.0.0.1:8765/mcp', 'here', local, 'http://127.0.0.1:8765/readyz'],
    ['http://127.0.0.1:8765/mcp', 'elsewhere', null, null],
    ['http://10.0.0.5/mcp', 'here', null, null],
    ['https://127.0.0.1/mcp', 'here', null, null],
    ['https://127.0.0.1:8765/mcp', 'here', local, `${local}/readyz`],
    ['https://dcc.studio.example/mcp', 'here', local, `${local}/readyz`],
    ['https://dcc.studio.example/mcp', 'elsewhere', local, null],
  ]
  for (const [mcpUrl, host, localUrl, asked] of table) {
    it(`asks ${asked ?? 'no address'} for ${mcpUrl} ${host}, local address ${localUrl}`, () => {
      const mcpUrlIsLoopback = /127\.0\.0\.1|localhost/.test(mcpUrl)
      const found = probeUrl({ mcpUrl, mcpUrlIsLoopback, localUrl, hostname: host }, 'here')
      expect(found.ok ? found.value.href : null).to.equal(asked)
    })
  }
})

describe('the probes of instances', () => {
  let directory: MemoryDirectory
  let time: ManualTime
  let probes: Probes
  let closing: (() => unknown)[]

  beforeEach(() => {
    directory = new MemoryDirectory()
    time = new ManualTime()
    closing = []
  })
  afterEach(async () => {
    const closed = probes.close()
    // Those that do not answer are given up by a timer.
    time.advance(60_000)
    await closed
    for (const close of closing) await close()
  })

  /** A live instance of this machine at this address. */
  const instanceAt = (mcpUrl: string, more: Partial<DirectoryRecord> = {}) =>
    entry({ mcpUrl, hostname: hostname(), localUrl: null, ...more })

  function start(
    entries: readonly InstanceEntry[],
    limits: Partial<Bounds> = {},
    isOwn: (url: URL) => boolean = () => false,
  ): string[] {
    directory.put(...entries)
    probes = new Probes({
      directory,
      hostname: hostname(),
      clock: systemClock,
      ticks: time,
      timer: time,
      limits: boundsWith(limits),
      isOwn,
    })
    return entries.map(({ record }) => record.instanceId)
  }

  async function answering(listener: RequestListener): Promise<string> {
    const server = createServer(listener).listen(0, '127.0.0.1')
    await once(server, 'listening')
    closing.push(() => {
      server.closeAllConnections()
      server.close()
    })
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
  }
  const ready = () => answering((_request, response) => void response.end())

  /** Says the same to every connection. */
  async function talking(bytes: string): Promise<string> {
    const server = createTcpServer(socket => {
      socket.on('error', () => {})
      socket.write(bytes)
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    closing.push(() => server.close())
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
  }

  async function freePort(): Promise<string> {
    const url = await ready()
    await closing.pop()?.()
    return url
  }

  /** The result of the round that is under way, which is not `after`. */
  async function resultOf(id: string, after: ProbeResult | null = null): Promise<ProbeResult> {
    await until(() => probes.of(id) !== after, 'the answer')
    const result = probes.of(id)
    if (result === null) throw new Error('no probe')
    return result
  }

  it('ask /readyz alone, without cookies, credentials or a body', async () => {
    const asked: string[] = []
    const url = await answering((request, response) => {
      asked.push(`${request.method} ${request.url}`, ...Object.keys(request.headers))
      response.end('{}')
    })
    const [id = ''] = start([instanceAt(`${url}?secret=1`)])
    await resultOf(id)
    expect(asked).to.deep.equal(['GET /readyz', 'accept', 'user-agent', 'host', 'connection'])
  })

  it('take localhost for this machine, and ask no resolver', async () => {
    const url = await ready()
    const { lookup } = dns
    closing.push(() => Object.assign(dns, { lookup }))
    Object.assign(dns, {
      lookup: (...given: unknown[]) => {
        const answer = given.at(-1) as (error: Error) => void
        answer(new Error('a resolver was asked'))
      },
    })
    const [id = ''] = start([instanceAt(url.replace('127.0.0.1', 'localhost'))])
    expect(await resultOf(id)).to.include({ failuresInARow: 0 })
  })

  it('come every 5 s, count failures in a row, and start anew after an answer', async () => {
    let status = 503
    const url = await answering((_request, response) => void response.writeHead(status).end())
    const [id = ''] = start([instanceAt(url)])
    let result = await resultOf(id)
    expect(result).to.include({ failuresInARow: 1, lastError: '/readyz answered 503' })
    time.advance(4999)
    expect(probes.of(id)).to.equal(result)
    time.advance(1)
    result = await resultOf(id, result)
    expect(result).to.include({ failuresInARow: 2, latencyMs: null })
    status = 200
    time.advance(5000)
    result = await resultOf(id, result)
    expect(result).to.include({
      failuresInARow: 0,
      lastError: '/readyz answered 503',
      latencyMs: 0,
    })
    expect(result.probedMs).to.be.closeTo(systemClock.now(), 60_000)
    directory.remove(id)
    expect(probes.of(id)).to.equal(null)
  })

  const failing: [what: string, start: () => Promise<string>, error: RegExp][] = [
    ['does not listen', freePort, /^nothing listens at 127\.0\.0\.1:\d+$/],
    ['hangs up', () => answering(request => request.socket.destroy()), /was cut$/],
    ['speaks another protocol', () => talking('SSH-2.0-x\r\n'), /does not speak HTTP$/],
    ['redirects', () => answering(redirect), /^\/readyz answered 302$/],
  ]
  for (const [what, begin, error] of failing) {
    it(`count as a failure what ${what}`, async () => {
      const [id = ''] = start([instanceAt(await begin())])
      const result = await resultOf(id)
      expect(result.failuresInARow).to.equal(1)
      expect(result.lastError).to.match(error)
    })
  }

  it('give up an instance that accepts and does not answer', async () => {
    let asked = 0
    const [id = ''] = start([instanceAt(await answering(() => void asked++))])
    await until(() => asked === 1, 'the probe')
    time.advance(4999)
    expect(probes.of(id)).to.equal(null)
    time.advance(1)
    expect(await resultOf(id)).to.include({ lastError: 'no answer within 5 s' })
  })

  it('are a bounded number at once, and reach all in the end', async () => {
    const held: (() => void)[] = []
    let most = 0
    const url = await answering((_request, response) => {
      held.push(() => response.end())
      most = Math.max(most, held.length)
    })
    const entries = Array.from({ length: 20 }, () => instanceAt(url))
    const ids = start(entries, { maxProbes: 3 })
    const done = () => ids.every(id => probes.of(id) !== null)
    await until(() => held.length === 3, 'the first probes')
    await until(() => {
      held.splice(0).forEach(answer => answer())
      return done()
    }, 'all answers')
    expect(most).to.equal(3)
  })

  it('go on while one instance hangs, which is not asked twice at once', async () => {
    let hung = 0
    const slow = await answering(() => void hung++)
    const entries = [instanceAt(slow), instanceAt(await ready())]
    const [slowId = '', fastId = ''] = start(entries, { probeTimeoutMs: 60_000 })
    let result = await resultOf(fastId)
    await until(() => hung === 1, 'the slow one was asked')
    for (let round = 0; round < 3; round++) {
      time.advance(5000)
      result = await resultOf(fastId, result)
    }
    expect(hung).to.equal(1)
    expect(probes.of(slowId)).to.equal(null)
  })

  it('ask neither foreign addresses, other machines, the dead, nor the gateway itself', async () => {
    let asked = 0
    const url = await answering((_request, response) => {
      asked++
      response.end()
    })
    const own = instanceAt('http://127.0.0.1:9765/mcp')
    const foreign = instanceAt('http://169.254.169.254/latest', { mcpUrlIsLoopback: false })
    const elsewhere = instanceAt(url, { hostname: 'another-machine' })
    const dead = entry({ ...instanceAt(url).record }, { health: 'dead' })
    const good = instanceAt(url)
    const entries = [own, foreign, elsewhere, dead, good]
    const ids = start(entries, {}, ({ port }) => port === '9765')
    const last = ids.at(-1) ?? ''
    const result = await resultOf(last)
    time.advance(5000)
    await resultOf(last, result)
    expect(asked).to.equal(2)
    expect(ids.slice(0, -1).map(id => probes.of(id))).to.deep.equal(Array(4).fill(null))
    expect(entries.map(each => probes.whyNot(each))).to.deep.equal([
      'its address is that of this gateway',
      'its address is not one of this machine alone',
      'it runs on another machine',
      'it is dead',
      null,
    ])
  })

  describe('in the directory', () => {
    const open = () =>
      createProbedDirectory({
        directory,
        probes,
        limits: { maxProbeFailures: 2 },
        log: silentLogger,
      })

    it('make an instance that fails twice unhealthy, once, and take it back', async () => {
      let status = 500
      const url = await answering((_request, response) => void response.writeHead(status).end())
      const [id = ''] = start([instanceAt(url), entry()])
      const probed = open()
      const heard: string[] = []
      probed.onChange(changes => heard.push(...changes.map(describeChange)))
      const verdict = () => probed.entries.find(one => one.record.instanceId === id)?.verdict
      let result = await resultOf(id)
      expect(verdict()?.health).to.equal('live')
      for (let round = 0; round < 3; round++) {
        time.advance(5000)
        result = await resultOf(id, result)
      }
      expect(verdict()).to.include({
        health: 'unhealthy',
        reason: 'it is not ready: /readyz answered 500',
        heartbeatAgeMs: 1200,
      })
      status = 200
      time.advance(5000)
      await resultOf(id, result)
      expect(verdict()?.health).to.equal('live')
      expect(heard).to.deep.equal([`changed ${id} unhealthy`, `changed ${id} live`])
    })

    it('hold nothing of before against an instance that is back from silence', async () => {
      const url = await answering((_request, response) => void response.writeHead(503).end())
      const [id = ''] = start([instanceAt(url)])
      const probed = open()
      const health = () => probed.entries[0]?.verdict.health
      const result = await resultOf(id)
      time.advance(5000)
      expect((await resultOf(id, result)).failuresInARow).to.equal(2)
      expect(health()).to.equal('unhealthy')
      directory.judge(id, 'stale', 'no heartbeat')
      expect(health()).to.equal('stale')
      directory.judge(id, 'live', 'its heartbeat is fresh')
      expect(health()).to.equal('live')
      expect(probes.of(id)).to.include({ failuresInARow: 0, lastError: '/readyz answered 503' })
    })

    it('leave other instances and faults as they are told', async () => {
      const [id = ''] = start([entry()])
      const probed = open()
      expect(probed.entries).to.deep.equal(directory.entries)
      expect(probed.entries).to.equal(probed.entries)
      const heard: string[] = []
      probed.onChange(changes => heard.push(changes.map(describeChange).join(', ')))
      directory.remove(id)
      directory.fault({ source: 'x.json', reason: 'no JSON' })
      expect(heard).to.deep.equal([`gone ${id} live`, 'fault x.json'])
      expect(probed.faults).to.equal(directory.faults)
      await probed.close()
      directory.put(entry())
      expect(heard).to.have.length(2)
    })
  })
})

function describeChange(change: InstanceChange): string {
  if ('fault' in change) return `${change.kind} ${change.fault.source}`
  const { record, verdict } = change.entry
  return `${change.kind} ${record.instanceId} ${verdict.health}`
}

const redirect: RequestListener = (_request, response) => {
  response.writeHead(302, { location: 'http://169.254.169.254/' })
  response.end()
}
