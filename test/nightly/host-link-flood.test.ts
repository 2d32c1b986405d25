import { expect } from 'chai'
import { LinkClient } from '../helpers/link.ts'
import { RawSession } from '../helpers/mcp.ts'
import { type ServeProcess, startServeProcess } from '../helpers/serve-process.ts'

const MiB = 1024 * 1024
const smallMessages = 20_000
const scenes = 2000

describe('a flood over the host link', () => {
  let serve: ServeProcess
  let session: RawSession

  before(async () => {
    serve = await startServeProcess({ flags: ['--log-level', 'warn'] })
    session = await RawSession.open(serve.url)
  })

  after(async () => {
    const { code, stderr } = await serve.stop()
    expect(code).to.equal(0)
    expect(stderr).not.to.match(/"level":"error"|\n\s+at /)
  })

  it('is taken in bounded memory, each id answered once, while clients read on', async () => {
    const app = await LinkClient.connect(serve)
    const text = 'x'.repeat(100_000)
    await app.done({ type: 'scene.set', scene: { number: 0, text } })
    const counts = new Map<string, number>()
    const revisions: number[] = []
    app.drain = ({ id, type, revision }) => {
      if (type !== 'ok') return false
      counts.set(id, (counts.get(id) ?? 0) + 1)
      if (revision !== undefined) revisions.push(revision)
      return true
    }
    serve.resetPeak()
    const before = serve.rss().now

    let reads = 0
    let flooding = true
    const reading = (async () => {
      while (flooding) {
        const { number } = await session.readJson('scene://current')
        expect(number).to.be.a('number')
        reads++
      }
    })()
    const perScene = smallMessages / scenes
    for (let number = 1; number <= scenes; number++) {
      app.say({ type: 'scene.set', id: `scene ${number}`, scene: { number, text } })
      for (let small = 0; small < perScene; small++) app.say(smallMessage(number, small))
      // This process sends no faster than its own memory allows.
      if (app.ws.bufferedAmount > 16 * MiB) await app.flushed()
    }
    const all = scenes + smallMessages
    await app.until(() => counts.size === all, 'every answer', 50_000)
    flooding = false
    await reading

    expect(app.ofType('error')).to.deep.equal([])
    expect([...counts.values()].every(count => count === 1)).to.equal(true)
    expect(revisions).to.have.lengthOf(scenes)
    expect(revisions).to.deep.equal(revisions.toSorted((a, b) => a - b))
    expect(reads).to.be.above(10)
    expect(await session.readJson('scene://current')).to.include({ number: scenes })
    const { entries } = await session.readJson('audit://recent?limit=1')
    expect(entries[0].params).to.deep.equal({ number: scenes, small: perScene - 2 })
    // Up to 32 MiB of it are past scenes.
    expect(serve.rss().peak - before).to.be.below(288 * MiB)
    await app.bye()
  })
})

/** Audit and events in turn, the last of a round an event. */
function smallMessage(number: number, small: number): object {
  const id = `small ${number} ${small}`
  if (small % 2 === 0) {
    return { type: 'audit.record', id, records: [{ action: 'move', params: { number, small } }] }
  }
  const events = [{ source: 'blender', stream: 'stdout', message: `${number} ${small}` }]
  return { type: 'events.append', id, session_id: 'flood', events }
}
