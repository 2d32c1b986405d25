import { expect } from 'chai'
import { readFileSync, readdirSync } from 'node:fs'
import { createCaller, quickLimits } from '../helpers/accounts-caller.ts'
import { type AccountsProcess, startAccountsProcess } from '../helpers/accounts-process.ts'
import { skipBecause } from '../helpers/skip.ts'
import { RawSocket, requestText } from './raw-socket.ts'
import { until } from '../helpers/until.ts'

const MiB = 1024 * 1024
const host = 'Host: localhost'
const json = 'Content-Type: application/json'
const login = 'POST /api/v1/auth/login HTTP/1.1'

const flags = [
  ...quickLimits,
  ...['headersTimeoutMs=3000', 'bodyTimeoutMs=3000', 'keepAliveTimeoutMs=3000'].map(
    bound => `--bound=${bound}`,
  ),
]

describe('a registry and clients that take their time', function () {
  this.timeout(90_000)
  let registry: AccountsProcess

  before(async function () {
    if (process.platform !== 'linux') skipBecause(this, 'there is no /proc on this system')
    registry = await startAccountsProcess({ flags })
  })

  after(() => registry?.stop())

  const openFiles = () => readdirSync(`/proc/${registry.pid}/fd`).length

  it('serves others meanwhile, within bounds, and ends every one of them', async () => {
    const caller = createCaller(registry.url)
    await caller.register('alice')
    const before = { files: openFiles(), memory: memoryOf(registry.pid) }
    const kinds: [what: string, count: number, text: string][] = [
      ['says nothing', 500, ''],
      ['begins a head', 100, `${login}\r\n${host}\r\n`],
      ['begins a body', 100, requestText([login, host, json, 'Content-Length: 16000'], '{"user')],
      [
        'begins a chunk',
        100,
        requestText([login, host, json, 'Transfer-Encoding: chunked'], '4\r\n{'),
      ],
      ['stays after its answer', 100, requestText(['GET /healthz HTTP/1.1', host])],
    ]
    const clients: { what: string; raw: RawSocket }[] = []
    for (const [what, count, text] of kinds) {
      const opened = Array.from({ length: count }, () => RawSocket.open(registry.port))
      for (const raw of await Promise.all(opened)) {
        raw.write(text)
        clients.push({ what, raw })
      }
    }

    // Answered while all of them are there.
    for (let round = 0; round < 5; round++) {
      expect((await caller.login('alice')).status).to.equal(200)
    }
    expect(clients.some(({ raw }) => !raw.closed)).to.equal(true)
    expect(memoryOf(registry.pid) - before.memory).to.be.lessThan(150 * MiB)

    await Promise.all(clients.map(({ raw }) => raw.untilClosed(30_000)))
    const answers = Map.groupBy(clients, ({ what }) => what)
    const statuses = (what: string) =>
      new Set((answers.get(what) ?? []).map(({ raw }) => raw.received.slice(9, 12)))
    expect(statuses('begins a head')).to.deep.equal(new Set(['408']))
    expect(statuses('begins a body')).to.deep.equal(new Set(['408']))
    expect(statuses('begins a chunk')).to.deep.equal(new Set(['408']))
    expect(statuses('stays after its answer')).to.deep.equal(new Set(['200']))
    await until(() => openFiles() <= before.files + 2, 'their connections are closed')
    expect((await caller.login('alice')).status).to.equal(200)
  })

  it('gives up one that sends a byte of its head now and then', async () => {
    const raw = await RawSocket.open(registry.port)
    raw.write(`${login}\r\n${host}\r\n`)
    const drip = setInterval(() => raw.write('X'), 200)
    try {
      await raw.untilClosed(20_000)
    } finally {
      clearInterval(drip)
    }
    expect(raw.received).to.match(/^HTTP\/1\.1 408 /)
  })
})

function memoryOf(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) * 1024
}
