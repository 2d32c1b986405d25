import { expect } from 'chai'
import { RawSession } from '../helpers/mcp.ts'
import { type ServeProcess, startServeProcess } from '../helpers/serve-process.ts'

const MiB = 1024 * 1024

const count = Number(process.env.AUDIT_RECORDS ?? 50_000)

describe(`${count} audit records, posted by the hundred`, function () {
  this.timeout(60_000 + count / 10)
  let serve: ServeProcess

  before(async () => {
    serve = await startServeProcess({ flags: ['--log-level', 'warn'] })
  })

  it('keep the last 10,000 in bounded memory, and reach who listens', async () => {
    const session = await RawSession.open(serve.url)
    const uri = 'audit://recent?limit=500'
    await session.call('resources/subscribe', { uri })
    const events = await session.listen()
    const params = { object: 'Cube', padding: 'x'.repeat(100) }
    const post = async (first: number) => {
      const records = Array.from({ length: 100 }, (_, index) => ({
        action: `action ${first + index}`,
        params,
      }))
      const answer = await serve.post('audit', { records })
      expect(answer.json).to.deep.equal({ ok: true, count: 100 })
    }
    // The ring is full after these.
    for (let first = 1; first <= 10_000; first += 100) await post(first)
    serve.resetPeak()
    const before = serve.rss().now
    for (let first = 10_001; first <= count; first += 100) {
      await post(first)
      events.messages.length = 0
    }
    // The heap settles at less than this however many come: 10,000 entries and garbage.
    expect(serve.rss().peak - before).to.be.below(256 * MiB)

    const { limit, entries } = await session.readJson(uri)
    expect(limit).to.equal(500)
    expect(entries).to.have.lengthOf(500)
    expect(entries[0]).to.include({ id: count - 499, action: `action ${count - 499}` })
    expect(entries[499]).to.include({ id: count, action: `action ${count}` })

    const before100 = events.updates.length
    await post(count + 1)
    await events.until(() => events.updates.length > before100)
    expect(events.updates.every(each => each === uri)).to.equal(true)
    events.close()
  })
})
