import dns from 'node:dns'
import type { RequestListener } from 'node:http'
import { hostname } from 'node:os'
import { expect } from 'chai'
import { systemClock } from '../../../src/lib/util/time.ts'
import { probeUrl } from '../../../src/server/gateway/probes.ts'
import { McpHttpServer } from '../../../src/server/mcp/mcp-http-server.ts'
import { until } from '../../helpers/until.ts'
import { ProbeScenario } from './probe-scenario.ts'

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
    it(`asks ${asked ?? 'no address'} for ${mcpUrl} ${host}`, () => {
      const record = { mcpUrl, mcpUrlIsLoopback, localUrl: null, hostname: host }
      const found = probeUrl(record, 'here')
      expect(found.ok ? found.value.href : null).to.equal(asked)
    })
  }

  const localUrl = 'http://127.0.0.1:4000'
  const behind: [mcpUrl: string, isLoopback: boolean, host: string, asked: string | null][] = [
    ['https://127.0.0.1:8765/mcp', true, 'here', `${localUrl}/readyz`],
    ['https://dcc.studio.example/mcp', false, 'here', `${localUrl}/readyz`],
    ['http://127.0.0.1:8765/mcp', true, 'here', 'http://127.0.0.1:8765/readyz'],
    ['https://dcc.studio.example/mcp', false, 'elsewhere', null],
  ]
  for (const [mcpUrl, mcpUrlIsLoopback, host, asked] of behind) {
    it(`asks ${asked ?? 'no address'} for ${mcpUrl} ${host} with a local address`, () => {
      const found = probeUrl({ mcpUrl, mcpUrlIsLoopback, localUrl, hostname: host }, 'here')
      expect(found.ok ? found.value.href : null).to.equal(asked)
    })
  }
})

describe('Probes', () => {
  let at: ProbeScenario
  beforeEach(async () => (at = await ProbeScenario.begin()))
  afterEach(() => at.close())

  it('asks a real server, and knows how fast it answered', async () => {
    const server = new McpHttpServer()
    const { url } = await server.start()
    at.closing.push(() => server.stop())
    const [id = ''] = await at.open({ records: [{ mcp_url: url }] })
    const result = await at.resultOf(id)
    expect(result).to.include({ failuresInARow: 0, lastError: null, latencyMs: 0 })
    expect(result.probedMs).to.be.closeTo(systemClock.now(), 60_000)
  })

  it('asks /readyz alone, without cookies, credentials or a body', async () => {
    const asked: string[] = []
    const url = await at.answering((request, response) => {
      asked.push(`${request.method} ${request.url}`, ...Object.keys(request.headers))
      response.end('{}')
    })
    const [id = ''] = await at.open({ records: [{ mcp_url: `${url}?secret=1` }] })
    await at.resultOf(id)
    expect(asked).to.deep.equal(['GET /readyz', 'accept', 'user-agent', 'host', 'connection'])
  })

  it('says why it does not ask', async () => {
    const url = await at.answering((_request, response) => void response.end())
    const own = 'http://127.0.0.1:9765/mcp'
    const records = [
      { mcp_url: url },
      { mcp_url: 'http://169.254.169.254/latest', host_url: 'http://169.254.169.254/host' },
      { hostname: 'elsewhere' },
      { mcp_url: own },
    ]
    const ids = await at.open({ records, isOwn: ({ port }) => port === '9765' })
    const whyNot = () =>
      ids.map(id => {
        const found = at.under.directory.entries.find(each => each.record.instanceId === id)
        return found === undefined ? 'gone' : at.probes.whyNot(found)
      })
    expect(whyNot()).to.deep.equal([
      null,
      'its address is not one of this machine alone',
      'it runs on another machine',
      'its address is that of this gateway',
    ])
    await at.under.pass(31_000)
    expect(whyNot()).to.deep.equal(Array(4).fill('it is stale'))
  })

  it('takes localhost for this machine, and asks no resolver', async () => {
    const url = await at.answering((_request, response) => void response.end())
    const { lookup } = dns
    at.closing.push(() => Object.assign(dns, { lookup }))
    Object.assign(dns, {
      lookup: (...given: unknown[]) => {
        const answer = given.at(-1) as (error: Error) => void
        answer(new Error('a resolver was asked'))
      },
    })
    const [id = ''] = await at.open({
      records: [{ mcp_url: url.replace('127.0.0.1', 'localhost') }],
    })
    expect(await at.resultOf(id)).to.include({ failuresInARow: 0 })
  })

  it('asks again every 5 s, counts failures in a row, and starts anew after an answer', async () => {
    let status = 503
    const url = await at.answering((_request, response) => {
      response.writeHead(status)
      response.end()
    })
    const [id = ''] = await at.open({ records: [{ mcp_url: url }] })
    let result = await at.resultOf(id)
    expect(result).to.include({ failuresInARow: 1, lastError: '/readyz answered 503' })
    at.time.advance(4999)
    expect(at.probes.of(id)).to.equal(result)
    at.time.advance(1)
    result = await at.resultOf(id, result)
    expect(result).to.include({ failuresInARow: 2, latencyMs: null })
    status = 200
    at.time.advance(5000)
    result = await at.resultOf(id, result)
    expect(result).to.include({ failuresInARow: 0, lastError: '/readyz answered 503' })
  })

  const failing: [what: string, start: () => Promise<string>, error: RegExp][] = [
    ['does not listen', () => at.freePort(), /^nothing listens at 127\.0\.0\.1:\d+$/],
    ['hangs up', () => at.answering(request => request.socket.destroy()), /was cut$/],
    ['speaks another protocol', () => at.talking('SSH-2.0-x\r\n'), /does not speak HTTP$/],
    [
      'answers without end',
      () => at.talking(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(99_999)}`),
      /HTTP$/,
    ],
    ['changes the protocol', () => at.talking(upgrade), /another protocol$/],
    ['sends elsewhere', () => at.answering(redirect), /^\/readyz answered 302$/],
    ['does not know it', () => at.answering((_, response) => notFound(response)), /answered 404$/],
  ]
  for (const [what, start, error] of failing) {
    it(`counts as a failure what ${what}`, async () => {
      const [id = ''] = await at.open({ records: [{ mcp_url: await start() }] })
      const result = await at.resultOf(id)
      expect(result.failuresInARow).to.equal(1)
      expect(result.lastError).to.match(error)
    })
  }

  it('gives up on who accepts and does not answer', async () => {
    let asked = 0
    const url = await at.answering(() => void asked++)
    const [id = ''] = await at.open({ records: [{ mcp_url: url }] })
    await until(() => asked === 1, 'it was asked')
    at.time.advance(4999)
    expect(at.probes.of(id)).to.equal(null)
    at.time.advance(1)
    expect(await at.resultOf(id)).to.include({ lastError: 'no answer within 5 s' })
  })

  it('reads no more of an answer than it may', async () => {
    let written = 0
    const url = await at.answering((_request, response) => {
      response.writeHead(200)
      const more = () => {
        while (!response.destroyed && response.write('x'.repeat(1000))) written += 1000
      }
      response.on('drain', more)
      more()
    })
    const [id = ''] = await at.open({ records: [{ mcp_url: url }] })
    expect(await at.resultOf(id)).to.include({ failuresInARow: 0 })
    expect(written).to.be.below(50_000_000)
  })

  it('probes a bounded number of instances at once, and all in the end', async () => {
    let now = 0
    let most = 0
    const url = await at.answering((_request, response) => {
      most = Math.max(most, ++now)
      setTimeout(() => {
        now--
        response.end()
      }, 5)
    })
    const ids = await at.open({
      limits: { maxProbes: 3 },
      records: Array.from({ length: 20 }, () => ({ mcp_url: url })),
    })
    await until(() => ids.every(id => at.probes.of(id) !== null), 'all were asked')
    expect(most).to.equal(3)
  })

  it('probes others while one hangs, and none twice at once', async () => {
    let hung = 0
    const slow = await at.answering(() => void hung++)
    const fast = await at.answering((_request, response) => void response.end())
    const records = [{ mcp_url: slow }, { mcp_url: fast }]
    const [slowId = '', fastId = ''] = await at.open({
      limits: { probeTimeoutMs: 60_000 },
      records,
    })
    let result = await at.resultOf(fastId)
    await until(() => hung === 1, 'the slow one was asked')
    for (let round = 0; round < 3; round++) {
      at.time.advance(5000)
      result = await at.resultOf(fastId, result)
    }
    expect(hung).to.equal(1)
    expect(at.probes.of(slowId)).to.equal(null)
    at.time.advance(60_000)
  })

  it('asks those first who answered before', async () => {
    const asked: string[] = []
    const slow = await at.answering(() => void asked.push('slow'))
    const fast = await at.answering((_request, response) => {
      asked.push('fast')
      response.end()
    })
    const records = [
      { mcp_url: slow, started_at: '2026-01-01T00:00:00Z' },
      { mcp_url: fast, started_at: '2026-01-02T00:00:00Z' },
    ]
    const [, fastId = ''] = await at.open({ limits: { maxProbes: 1 }, records })
    await until(() => asked.length === 1, 'the first is asked')
    at.time.advance(5000)
    const result = await at.resultOf(fastId)
    at.time.advance(5000)
    await at.resultOf(fastId, result)
    await until(() => asked.length === 4, 'both are asked again')
    expect(asked).to.deep.equal(['slow', 'fast', 'fast', 'slow'])
  })

  it('asks neither foreign addresses, other machines, the silent, nor itself', async () => {
    let asked = 0
    const url = await at.answering((_request, response) => {
      asked++
      response.end()
    })
    const { port } = new URL(url)
    const ids = await at.open({
      isOwn: found => found.port === '9765',
      records: [
        { mcp_url: `http://0.0.0.0:${port}/mcp`, host_url: `http://0.0.0.0:${port}/host` },
        { mcp_url: `http://${hostname()}:${port}/mcp`, host_url: `http://${hostname()}:${port}` },
        { mcp_url: url, hostname: 'another-machine' },
        { mcp_url: url, pid: 2 ** 30 },
        { mcp_url: 'http://127.0.0.1:9765/mcp' },
        { mcp_url: url },
      ],
    })
    const last = ids.at(-1) ?? ''
    const result = await at.resultOf(last)
    at.time.advance(5000)
    await at.resultOf(last, result)
    expect(asked).to.equal(2)
    expect(ids.slice(0, -1).map(id => at.probes.of(id))).to.deep.equal(Array(5).fill(null))
  })

  it('forgets who is gone', async () => {
    const url = await at.answering((_request, response) => void response.end())
    const [id = ''] = await at.open({ records: [{ mcp_url: url }] })
    await at.resultOf(id)
    await at.under.place(id, 'nonsense')
    await at.under.directory.refresh()
    expect(at.probes.of(id)).to.equal(null)
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
