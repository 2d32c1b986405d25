import { expect } from 'chai'
import { readFileSync, readdirSync } from 'node:fs'
import { createCaller, quickLimits } from '../helpers/accounts-caller.ts'
import { type RunningAccounts, startAccountsProcess } from '../helpers/accounts-process.ts'
import { accountsInProcess } from '../helpers/in-process-servers.ts'
import { skipBecause } from '../helpers/skip.ts'
import { RawSocket, requestText } from './raw-socket.ts'
import { until } from '../helpers/until.ts'

const MiB = 1024 * 1024
const host = 'Host: localhost'
const json = 'Content-Type: application/json'
const login = 'POST /api/v1/auth/login HTTP/1.1'

const bounds = (...names: string[]) => names.map(name => `--bound=${name}`)

const drips: [what: string, count: number, text: string][] = [
  ['says nothing', 500, ''],
  ['begins a head', 100, `${login}\r\n${host}\r\n`],
  ['begins a body', 100, requestText([login, host, json, 'Content-Length: 16000'], '{"user')],
  ['begins a chunk', 100, requestText([login, host, json, 'Transfer-Encoding: chunked'], '4\r\n{')],
]

describe('a registry and clients that take their time', function () {
  this.timeout(90_000)
  let registry: RunningAccounts

  beforeEach(function () {
    if (process.platform !== 'linux') skipBecause(this, 'there is no /proc on this system')
  })

  afterEach(() => registry?.stop())

  const start = async (...flags: string[]) => {
    registry = await accountsInProcess({ flags: [...quickLimits, ...flags] })
    return createCaller(registry.url)
  }
  const openFiles = () => readdirSync('/proc/self/fd').length

  async function openAll(kinds: typeof drips): Promise<{ what: string; raw: RawSocket }[]> {
    const clients: { what: string; raw: RawSocket }[] = []
    for (const [what, count, text] of kinds) {
      const opened = Array.from({ length: count }, () => RawSocket.open(registry.port))
      for (const raw of await Promise.all(opened)) {
        raw.write(text)
        clients.push({ what, raw })
      }
    }
    return clients
  }

  it('serves others while they are there, within bounds', async () => {
    const noCut = ['headersTimeoutMs', 'bodyTimeoutMs'].map(name => `${name}=600000`)
    const flags = bounds(...noCut, 'keepAliveTimeoutMs=600000')
    const program = await startAccountsProcess({ flags: [...quickLimits, ...flags] })
    registry = program
    const caller = createCaller(program.url)
    await caller.register('alice')
    const before = memoryOf(program.pid)
    const idle = requestText(['GET /healthz HTTP/1.1', host])
    const clients = await openAll([...drips, ['stays after its answer', 100, idle]])
    for (let round = 0; round < 5; round++) {
      expect((await caller.login('alice')).status).to.equal(200)
    }
    expect(clients.filter(({ raw }) => raw.closed)).to.deep.equal([])
    expect(memoryOf(program.pid) - before).to.be.lessThan(150 * MiB)
    for (const { raw } of clients) raw.close()
  })

  it('ends every one of them, with 408 when a request has begun', async () => {
    const caller = await start(...bounds('headersTimeoutMs=500', 'bodyTimeoutMs=500'))
    await caller.register('alice')
    const before = openFiles()
    const clients = await openAll(drips)
    await Promise.all(clients.map(({ raw }) => raw.untilClosed()))
    const begun = clients.filter(({ what }) => what !== 'says nothing')
    const statuses = new Set(begun.map(({ what, raw }) => `${what}: ${raw.received.slice(9, 12)}`))
    expect([...statuses]).to.deep.equal(drips.slice(1).map(([what]) => `${what}: 408`))
    await until(() => openFiles() <= before + 2, 'their connections are closed')
    expect((await caller.login('alice')).status).to.equal(200)

    const raw = await RawSocket.open(registry.port)
    raw.write(`${login}\r\n${host}\r\n`)
    const drip = setInterval(() => raw.write('X'), 50)
    await raw.untilClosed().finally(() => clearInterval(drip))
    expect(raw.received).to.match(/^HTTP\/1\.1 408 /)
  })

  it('ends one that stays after its answer', async () => {
    await start(...bounds('keepAliveTimeoutMs=100'))
    const clients = await openAll([['stays', 100, requestText(['GET /healthz HTTP/1.1', host])]])
    await Promise.all(clients.map(({ raw }) => raw.untilClosed()))
    const statuses = new Set(clients.map(({ raw }) => raw.received.slice(9, 12)))
    expect([...statuses]).to.deep.equal(['200'])
  })
})

function memoryOf(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) * 1024
}
