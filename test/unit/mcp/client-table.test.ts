import { expect } from 'chai'
import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { Client } from '../../../src/server/mcp/client.ts'
import { ClientTable } from '../../../src/server/mcp/client-table.ts'
import { statelessMeta } from '../../helpers/stateless.ts'
import { ManualTime } from '../resources/manual-time.ts'

const minuteMs = 60_000
const info = { name: 'claude-code', title: 'Claude Code', version: '2.1' }
const sessionOf = (other: object = {}) => ({
  protocolVersion: '2025-11-25',
  principal: 'anonymous',
  info,
  ...other,
})

/** What it tells of real clients is in `test/cli/clients.test.ts`. */
describe('ClientTable', () => {
  let time: ManualTime
  let table: ClientTable
  let told: number
  beforeEach(() => {
    time = new ManualTime()
    table = new ClientTable({ clock: time, timer: time })
    told = 0
    table.onChange(() => told++)
  })
  afterEach(() => table.close())

  const page = () => table.page() as { clients: any[]; total: number }
  const names = () => page().clients.map(({ name }) => name)
  const act = (client: Client, method: string, params: object = {}, isDone = true) =>
    client.begin({ method, params: { ...params } })?.end(isDone)
  const stateless = (clientInfo: unknown = info, principal = 'anonymous') =>
    table.ofRequest({ _meta: statelessMeta({ clientInfo }) }, principal)
  /** A stream; `close` ends it. */
  const stream = () => {
    const events = new EventEmitter()
    const res = Object.assign(events, { destroyed: false }) as unknown as ServerResponse
    return { res, close: () => events.emit('close') }
  }
  /** The throttle and the sweep go on after a microtask. */
  const advance = async (ms: number) => {
    time.advance(ms)
    await new Promise(resolve => setImmediate(resolve))
  }

  it('has one row per session, and per name, version and principal without one', () => {
    table.ofSession(sessionOf())
    table.ofSession(sessionOf()).gone()
    stateless()
    stateless()
    stateless({ ...info, version: '2.2' })
    stateless(info, 'key:ada')
    stateless({ name: 'claude', version: '-code2.1' })
    expect(page().total).to.equal(5)
  })

  it('names a client that does not say what it is "unknown"', () => {
    stateless(null)
    table.ofSession(sessionOf({ info: { name: 7, version: '\u001b[31m' } }))
    for (const row of page().clients) {
      expect(row).to.include({ name: 'unknown', version: 'unknown' })
      expect(row).to.not.have.any.keys('title', 'principal')
    }
  })

  it('cuts and cleans the texts of clients, and hides secrets in their URIs', () => {
    const long = `a\u001b[2J\n${'b'.repeat(10_000)}`
    const client = stateless({ name: long, title: long, version: long })
    act(client, 'resources/read', { uri: `docs://x?api_key=hunter2&more=${'c'.repeat(2000)}` })
    const [row] = page().clients
    expect([row.name.length, row.title.length, row.version.length]).to.deep.equal([100, 100, 50])
    expect(row.name).to.match(/^a b+…$/)
    expect(row.last_read.uri).to.have.length(500).and.not.include('hunter2')
  })

  it('tells the newest activity first', async () => {
    const [first, second] = ['first', 'second'].map(name => stateless({ name, version: '1' }))
    await advance(1000)
    act(second!, 'ping')
    expect(names()).to.deep.equal(['second', 'first'])
    await advance(1000)
    act(first!, 'ping')
    expect(names()).to.deep.equal(['first', 'second'])
  })

  it('shows 100 clients and counts all', () => {
    for (let at = 0; at < 150; at++) table.ofSession(sessionOf())
    expect(page().clients).to.have.length(100)
    expect(page().total).to.equal(150)
  })

  it('forgets a client without a session 10 minutes after its last request', async () => {
    stateless()
    for (let minute = 0; minute < 9; minute++) await advance(minuteMs)
    expect(page().total).to.equal(1)
    stateless()
    for (let minute = 0; minute < 9; minute++) await advance(minuteMs)
    expect(page().total).to.equal(1)
    const before = told
    await advance(minuteMs)
    expect(page().total).to.equal(0)
    expect(told).to.equal(before + 1)
  })

  it('keeps a client without a session while its stream is open', async () => {
    const { res, close } = stream()
    stateless().opened(res)
    for (let minute = 0; minute < 20; minute++) await advance(minuteMs)
    expect(page().clients[0]).to.include({ streams: 1 })
    close()
    expect(page().clients[0]).to.include({ streams: 0 })
    await advance(minuteMs)
    expect(page().total).to.equal(0)
  })

  it('does not count what the live view in a chat asks for', async () => {
    const client = table.ofSession(sessionOf())
    await advance(1000)
    act(client, 'tools/call', { name: 'look' })
    const before = page()
    const _meta = { 'service-cli/live': true }
    act(client, 'tools/call', { name: 'wait_for_change', _meta })
    expect(page()).to.deep.equal(before)
    act(client, 'tools/call', { name: 'query_scene', _meta: { 'service-cli/live': 1 } })
    expect(page().clients[0].last_call.tool).to.equal('query_scene')
  })

  it('shows what the live page does, and pushes only that it comes and goes', async () => {
    const client = stateless({ name: 'service-page', version: '1' })
    const { res, close } = stream()
    client.opened(res)
    await advance(1000)
    expect(told).to.equal(2)
    for (let at = 0; at < 3; at++) {
      act(client, 'resources/read', { uri: 'scene://current' })
      await advance(1000)
    }
    expect(told).to.equal(2)
    expect(page().clients[0].last_read.uri).to.equal('scene://current')
    close()
    expect(told).to.equal(3)
  })
})
