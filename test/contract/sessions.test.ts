import { expect } from 'chai'
import { ask, initialize, postHeaders, RawSession, rpc } from '../helpers/mcp.ts'
import { closeStreams, listen, useServer } from './support.ts'

const hourMs = 60 * 60 * 1000

const statusOfPing = async (session: RawSession) => (await session.post(rpc('ping'))).status

describe('a session', () => {
  const clock = { timeMs: 1_000_000, now: () => clock.timeMs }
  const section = useServer({}, () => {}, { clock })

  it('has an unguessable id, obtained during initialization and sent as Mcp-Session-Id', async () => {
    const ids = new Set<string>()
    for (let n = 0; n < 20; n++) ids.add((await RawSession.open(section.url)).id)
    expect(ids.size).to.equal(20)
    for (const id of ids) expect(id).to.match(/^[\x21-\x7e]{22,}$/)
    const [id = ''] = ids
    const post = async (headers: object) => {
      const all = { ...postHeaders, ...headers }
      return (await ask(section.url, { method: 'POST', headers: all, body: rpc('ping') })).status
    }
    expect(await post({ 'Mcp-Session-Id': id })).to.equal(200)
    expect(await post({})).to.equal(400)
  })

  it('ends after an hour without a request', async () => {
    clock.timeMs += hourMs - 1
    expect(await statusOfPing(section.session)).to.equal(200)
    clock.timeMs += hourMs
    expect(await statusOfPing(section.session)).to.equal(404)
  })

  it('does not end while its stream is open', async () => {
    await listen(section.session)
    clock.timeMs += 3 * hourMs
    expect(await statusOfPing(section.session)).to.equal(200)
  })
})

describe('a session beyond maxSessions', () => {
  const clock = { timeMs: 1_000_000, now: () => clock.timeMs++ }
  const section = useServer({ limits: { maxSessions: 2 } }, () => {}, { clock })

  it('ends the longest idle one without a stream, and is 503 when all have one', async () => {
    const streaming = section.session
    await listen(streaming)
    const idle = await RawSession.open(section.url)
    const newer = await RawSession.open(section.url)
    expect(await statusOfPing(idle)).to.equal(404)
    expect(await statusOfPing(newer)).to.equal(200)
    expect(await statusOfPing(streaming)).to.equal(200)
    const events = await listen(newer)
    expect((await initialize(section.url)).status).to.equal(503)
    closeStreams()
    await events.untilEnded()
  })
})
