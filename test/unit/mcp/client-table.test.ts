import { expect } from 'chai'
import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { type Client, ClientTable } from '../../../src/server/mcp/client-table.ts'
import { statelessMeta } from '../../helpers/stateless.ts'
import { ManualTime } from '../resources/manual-time.ts'

const minuteMs = 60_000
const info = { name: 'claude-code', version: '2.1' }

/** What it tells of real clients is in `test/server/clients.test.ts`. */
describe('ClientTable', () => {
  let time: ManualTime
  let table: ClientTable
  beforeEach(() => {
    time = new ManualTime()
    table = new ClientTable({ clock: time, timer: time })
  })
  afterEach(() => table.close())

  const rows = () => table.rows() as any[]
  const act = (client: Client, method: string, params: object = {}) => {
    const response = new EventEmitter() as ServerResponse
    table.began(client, { kind: 'request', id: 1, method, params: { ...params } }, response)?.()
    return response
  }
  const ask = (clientInfo: unknown = info, principal = 'anonymous', uri = 'scene://current') => {
    const params = { _meta: statelessMeta({ clientInfo }) }
    act(table.ofRequest(params, principal), 'resources/read', { uri })
  }

  it('has one row per name, version and principal', () => {
    table.ofSession(info, 'anonymous')
    ask()
    ask({ ...info, version: '2.2' })
    ask(info, 'key:ada')
    ask({ name: 'claude', version: '-code2.1' })
    expect(rows()).to.have.length(4)
  })

  it('cuts and cleans the texts of clients, and hides secrets in their URIs', () => {
    const long = `a\u001b[2J\n${'b'.repeat(10_000)}`
    const uri = `docs://x?api_key=hunter2&more=${'c'.repeat(2000)}`
    ask({ name: long, version: long }, 'anonymous', uri)
    const [row] = rows()
    expect([row.name.length, row.version.length]).to.deep.equal([100, 100])
    expect(row.name).to.match(/^a b+…$/)
    expect(row.last_read.uri).to.have.length(500).and.not.include('hunter2')
  })

  it('keeps the 100 clients that were seen last, newest first', () => {
    for (let at = 0; at < 150; at++) {
      ask({ name: `client ${at}`, version: '1' })
      time.advance(1)
    }
    ask({ name: 'client 60', version: '1' })
    const names = rows().map(({ name }) => name)
    expect(names).to.have.length(100)
    expect(names.slice(0, 2)).to.deep.equal(['client 60', 'client 149'])
    expect(names.at(-1)).to.equal('client 50')
  })

  it('lists a client for a minute after its last request, and while it has a stream or call open', () => {
    ask()
    const session = table.ofSession({ ...info, name: 'silent' }, 'anonymous')
    const listener = table.ofRequest({ _meta: statelessMeta({ clientInfo: { name: 'open' } }) }, '')
    const response = act(listener, 'subscriptions/listen')
    time.advance(minuteMs)
    expect(rows().map(({ name }) => name)).to.deep.equal(['open'])
    response.emit('close')
    time.advance(minuteMs - 1)
    expect(rows()).to.have.length(1)
    act(session, 'ping')
    time.advance(1)
    expect(rows().map(({ name }) => name)).to.deep.equal(['silent'])
    table.sessionEnded(session)
    expect(rows()).to.deep.equal([])
  })

  it('pushes that a client has left without a word', async () => {
    ask()
    await new Promise(setImmediate)
    expect(rows()).to.have.length(1)
    let pushed = 0
    table.watch(() => pushed++)
    for (let round = 0; round < 8; round++) {
      time.advance(10_000)
      await new Promise(setImmediate)
    }
    expect(pushed).to.be.at.least(1)
    expect(rows()).to.deep.equal([])
  })

  it('does not count what the live view in a chat asks for', () => {
    const client = table.ofSession(info, 'anonymous')
    act(client, 'tools/call', { name: 'look' })
    const before = rows()
    time.advance(1000)
    const _meta = { 'service-cli/live': true }
    act(client, 'tools/call', { name: 'wait_for_change', _meta })
    expect(rows()).to.deep.equal(before)
    act(client, 'tools/call', { name: 'query_scene', _meta: { 'service-cli/live': 1 } })
    expect(rows()[0].last_call.tool).to.equal('query_scene')
  })
})
