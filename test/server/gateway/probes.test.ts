import { type RequestListener, type Server, createServer } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { hostname } from 'node:os'
import { expect } from 'chai'
import { silentLogger } from '../../../src/lib/logger.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import type { InstanceChange } from '../../../src/server/gateway/instance-directory.ts'
import { type GatewayLimits, resolveGatewayLimits } from '../../../src/server/gateway/limits.ts'
import { probeUrl } from '../../../src/server/gateway/probe-request.ts'
import { createProbedDirectory } from '../../../src/server/gateway/probed-directory.ts'
import { type ProbeResult, Probes } from '../../../src/server/gateway/probes.ts'
import { McpHttpServer } from '../../../src/server/mcp-http-server.ts'
import type { InstanceRecord } from '../../../src/server/host/instance-record.ts'
import { until } from '../../e2e/until.ts'
import { ManualTime } from '../resources/manual-time.ts'
import { type FsDirectoryUnderTest, openFsUnderTest } from './fs-harness.ts'
import { makeRecord } from './support.ts'

describe('probeUrl', () => {
  const table: [mcpUrl: string, isLoopback: boolean, host: string, asked: string | null][] = [
    ['http://127.0.0.1:8765/mcp', true, 'here', 'http://127.0.0.1:8765/readyz'],
    ['http://localhost:1/a/b?c=d', true, 'here', 'http://localhost:1/readyz'],
    ['http://[::1]:1/mcp', true, 'here', 'http://[::1]:1/readyz'],
    ['http://127.0.0.1:8765/mcp', true, 'elsewhere', null],
    ['http://10.0.0.5/mcp', false, 'here', null],
    ['https://127.0.0.1/mcp', true, 'here', null],
  ]
  for (const [mcpUrl, mcpUrlIsLoopback, host, asked] of table) {
    it(`asks ${asked ?? 'nobody'} for ${mcpUrl} ${host}`, () => {
      const found = probeUrl({ mcpUrl, mcpUrlIsLoopback, hostname: host }, 'here')
      expect(found.ok ? found.value.href : null).to.equal(asked)
    })
  }
})

describe('Probes', () => {
  let under: FsDirectoryUnderTest
  let time: ManualTime
  let probes: Probes
  const closing: (() => unknown)[] = []

  async function open(options: {
    limits?: Partial<GatewayLimits>
    isOwn?: (url: URL) => boolean
    records: Partial<InstanceRecord>[]
  }): Promise<string[]> {
    under = await openFsUnderTest()
    const ids = []
    for (const changes of options.records) {
      const record = makeRecord(changes)
      await under.register(record)
      ids.push(record.instance_id)
    }
    await under.directory.refresh()
    time = new ManualTime()
    probes = new Probes({
      directory: under.directory,
      hostname: hostname(),
      clock: systemClock,
      ticks: time,
      timer: time,
      limits: resolveGatewayLimits(options.limits),
      ...(options.isOwn === undefined ? {} : { isOwn: options.isOwn }),
    })
    return ids
  }
  afterEach(async () => {
    const closed = probes.close()
    // Who does not answer is given up by a timer.
    time.advance(5000)
    await closed
    await under.close()
    for (const close of closing.splice(0)) await close()
  })

  async function answering(listener: RequestListener): Promise<string> {
    const server: Server = createServer(listener)
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    closing.push(() => {
      server.closeAllConnections()
      server.close()
    })
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
  }
  async function talking(bytes: string): Promise<string> {
    const server = createTcpServer(socket => {
      socket.on('error', () => {})
      socket.write(bytes)
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    closing.push(() => server.close())
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
  }
  async function freePort(): Promise<string> {
    const url = await answering(() => {})
    await closing.pop()?.()
    return url
  }
  /** Of the round that is under way. */
  async function resultOf(id: string, after: ProbeResult | null = null): Promise<ProbeResult> {
    await until(() => probes.of(id) !== after, 'it was asked')
    const result = probes.of(id)
    if (result === null) throw new Error('it was not asked')
    return result
  }

  it('asks a real server, and knows how fast it answered', async () => {
    const server = new McpHttpServer()
    const { url } = await server.start()
    closing.push(() => server.stop())
    const [id = ''] = await open({ records: [{ mcp_url: url }] })
    const result = await resultOf(id)
    expect(result).to.include({ failuresInARow: 0, lastError: null, latencyMs: 0 })
    expect(result.probedMs).to.be.closeTo(systemClock.now(), 60_000)
  })

  it('asks /readyz alone, without cookies, credentials or a body', async () => {
    const asked: string[] = []
    const url = await answering((request, response) => {
      asked.push(`${request.method} ${request.url}`, ...Object.keys(request.headers))
      response.end('{}')
    })
    const [id = ''] = await open({ records: [{ mcp_url: `${url}?secret=1` }] })
    await resultOf(id)
    expect(asked).to.deep.equal(['GET /readyz', 'accept', 'host', 'connection'])
  })

  it('takes localhost for this machine, and asks no resolver', async () => {
    const url = await answering((_request, response) => void response.end())
    const [id = ''] = await open({ records: [{ mcp_url: url.replace('127.0.0.1', 'localhost') }] })
    expect(await resultOf(id)).to.include({ failuresInARow: 0 })
  })

  it('asks again every 5 s, counts failures in a row, and starts anew after an answer', async () => {
    let status = 503
    const url = await answering((_request, response) => {
      response.writeHead(status)
      response.end()
    })
    const [id = ''] = await open({ records: [{ mcp_url: url }] })
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
    expect(result).to.include({ failuresInARow: 0, lastError: '/readyz answered 503' })
  })

  const failing: [what: string, start: () => Promise<string>, error: RegExp][] = [
    ['does not listen', freePort, /^nothing listens at 127\.0\.0\.1:\d+$/],
    ['hangs up', () => answering(request => request.socket.destroy()), /was cut$/],
    ['speaks another protocol', () => talking('SSH-2.0-x\r\n'), /does not speak HTTP$/],
    ['answers without end', () => talking(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(99_999)}`), /HTTP$/],
    ['changes the protocol', () => talking(upgrade), /another protocol$/],
    ['sends elsewhere', () => answering(redirect), /^\/readyz answered 302$/],
    ['does not know it', () => answering((_, response) => notFound(response)), /answered 404$/],
  ]
  for (const [what, start, error] of failing) {
    it(`counts as a failure what ${what}`, async () => {
      const [id = ''] = await open({ records: [{ mcp_url: await start() }] })
      const result = await resultOf(id)
      expect(result.failuresInARow).to.equal(1)
      expect(result.lastError).to.match(error)
    })
  }

  it('gives up on who accepts and does not answer', async () => {
    let asked = 0
    const url = await answering(() => void asked++)
    const [id = ''] = await open({ records: [{ mcp_url: url }] })
    await until(() => asked === 1, 'it was asked')
    time.advance(4999)
    expect(probes.of(id)).to.equal(null)
    time.advance(1)
    expect(await resultOf(id)).to.include({ lastError: 'no answer within 5 s' })
  })

  it('reads no more of an answer than it may', async () => {
    let written = 0
    const url = await answering((_request, response) => {
      response.writeHead(200)
      const more = () => {
        while (!response.destroyed && response.write('x'.repeat(1000))) written += 1000
      }
      response.on('drain', more)
      more()
    })
    const [id = ''] = await open({ records: [{ mcp_url: url }] })
    expect(await resultOf(id)).to.include({ failuresInARow: 0 })
    expect(written).to.be.below(50_000_000)
  })

  it('asks a bounded number at a time, and everybody in the end', async () => {
    let now = 0
    let most = 0
    const url = await answering((_request, response) => {
      most = Math.max(most, ++now)
      setTimeout(() => {
        now--
        response.end()
      }, 5)
    })
    const ids = await open({
      limits: { maxProbes: 3 },
      records: Array.from({ length: 20 }, () => ({ mcp_url: url })),
    })
    await until(() => ids.every(id => probes.of(id) !== null), 'all were asked')
    expect(most).to.equal(3)
  })

  it('lets nobody who hangs keep the others waiting, and asks nobody twice at a time', async () => {
    let hung = 0
    const slow = await answering(() => void hung++)
    const fast = await answering((_request, response) => void response.end())
    const records = [{ mcp_url: slow }, { mcp_url: fast }]
    const [slowId = '', fastId = ''] = await open({ limits: { probeTimeoutMs: 60_000 }, records })
    let result = await resultOf(fastId)
    await until(() => hung === 1, 'the slow one was asked')
    for (let round = 0; round < 3; round++) {
      time.advance(5000)
      result = await resultOf(fastId, result)
    }
    expect(hung).to.equal(1)
    expect(probes.of(slowId)).to.equal(null)
    time.advance(60_000)
  })

  it('asks neither foreign addresses, other machines, the silent, nor itself', async () => {
    let asked = 0
    const url = await answering((_request, response) => {
      asked++
      response.end()
    })
    const { port } = new URL(url)
    const ids = await open({
      isOwn: found => found.port === '9765',
      records: [
        { mcp_url: `http://0.0.0.0:${port}/mcp` },
        { mcp_url: `http://${hostname()}:${port}/mcp` },
        { mcp_url: url, hostname: 'another-machine' },
        { mcp_url: url, pid: 2 ** 30 },
        { mcp_url: 'http://127.0.0.1:9765/mcp' },
        { mcp_url: url },
      ],
    })
    const last = ids.at(-1) ?? ''
    const result = await resultOf(last)
    time.advance(5000)
    await resultOf(last, result)
    expect(asked).to.equal(2)
    expect(ids.slice(0, -1).map(id => probes.of(id))).to.deep.equal(Array(5).fill(null))
  })

  it('forgets who is gone', async () => {
    const url = await answering((_request, response) => void response.end())
    const [id = ''] = await open({ records: [{ mcp_url: url }] })
    await resultOf(id)
    await under.place(id, 'nonsense')
    await under.directory.refresh()
    expect(probes.of(id)).to.equal(null)
  })

  describe('in the verdicts of a directory', () => {
    it('make who fails twice unhealthy, tell it once, and take it back', async () => {
      let status = 500
      const url = await answering((_request, response) => {
        response.writeHead(status)
        response.end()
      })
      const [id = ''] = await open({ records: [{ mcp_url: url }, {}] })
      const directory = createProbedDirectory({
        directory: under.directory,
        probes,
        limits: { maxProbeFailures: 2 },
        log: silentLogger,
      })
      const heard: string[] = []
      directory.onChange(changes => heard.push(...changes.map(describeChange)))
      const verdict = () => directory.entries.find(one => one.record.instanceId === id)?.verdict
      let result = await resultOf(id)
      expect(verdict()?.health).to.equal('live')
      for (let round = 0; round < 3; round++) {
        time.advance(5000)
        result = await resultOf(id, result)
      }
      expect(verdict()).to.include({
        health: 'unhealthy',
        reason: 'it is not ready: /readyz answered 500',
      })
      expect(verdict()?.heartbeatAgeMs).to.be.a('number')
      const { entries } = directory
      status = 200
      time.advance(5000)
      await resultOf(id, result)
      expect(verdict()?.health).to.equal('live')
      expect(directory.entries).to.not.equal(entries)
      const ofIt = heard.filter(text => text.includes(id))
      expect(ofIt).to.deep.equal([`changed ${id} unhealthy`, `changed ${id} live`])
    })

    it('pass on what the directory below tells, faults too', async () => {
      const [id = ''] = await open({ records: [{ mcp_url: 'http://10.0.0.5/mcp' }] })
      const directory = createProbedDirectory({
        directory: under.directory,
        probes,
        limits: { maxProbeFailures: 2 },
        log: silentLogger,
      })
      expect(directory.entries).to.deep.equal(under.directory.entries)
      expect(directory.entries).to.equal(directory.entries)
      const heard: string[] = []
      directory.onChange(changes => heard.push(changes.map(describeChange).join(', ')))
      await under.place(id, 'nonsense')
      await directory.refresh()
      expect(heard).to.deep.equal([`gone ${id} live, fault ${id}.json`])
      expect(directory.faults).to.equal(under.directory.faults)
      await directory.close()
      await under.place(id, JSON.stringify(makeRecord({ instance_id: id })))
      await under.directory.refresh()
      expect(heard).to.have.length(1)
    })
  })
})

const upgrade = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n'

const redirect: RequestListener = (_request, response) => {
  response.writeHead(302, { location: 'http://169.254.169.254/' })
  response.end()
}

function notFound(response: Parameters<RequestListener>[1]): void {
  response.writeHead(404)
  response.end()
}

function describeChange(change: InstanceChange): string {
  if ('fault' in change) return `${change.kind} ${change.fault.source}`
  const { record, verdict } = change.entry
  return `${change.kind} ${record.instanceId} ${verdict.health}`
}
