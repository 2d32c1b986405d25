import { expect } from 'chai'
import { setTimeout as delay } from 'node:timers/promises'
import { createEventFollower } from '../../../../src/lib/mcp/client/event-follower.ts'
import type { News, Read } from '../../../../src/lib/mcp/client/follower.ts'
import { SessionEventBuffer } from '../../../../src/server/resources/session-event-buffer.ts'

const uri = 'events://session/a'

function bufferOf(...messages: string[]): SessionEventBuffer {
  const buffer = new SessionEventBuffer({ sessionId: 'a', maxlen: 3 })
  for (const message of messages) buffer.append({ source: 'bpy', stream: 'stdout', message })
  return buffer
}

function readOf(buffer: SessionEventBuffer): Read {
  return async asked => {
    const { searchParams } = new URL(asked)
    const numberOf = (name: string) => Number(searchParams.get(name))
    const limit = searchParams.has('limit') ? numberOf('limit') : 100
    const page = buffer.page({ cursor: numberOf('cursor'), limit })
    return [{ kind: 'text', uri: asked, mimeType: null, text: JSON.stringify(page) }]
  }
}

const messages = (news: News | null | undefined) =>
  (news?.facts.events as { message: string }[] | undefined)?.map(({ message }) => message) ?? []
const missing = 'events are missing: the server dropped them before they were read'

describe('createEventFollower', () => {
  it('returns each event once, and says when some were dropped', async () => {
    const buffer = bufferOf('a')
    const follower = createEventFollower(uri)
    const { news } = await follower.start(readOf(buffer))
    expect(messages(news)).to.deep.equal(['a'])
    expect(await follower.look(readOf(buffer))).to.equal(null)
    for (const message of 'bcd') buffer.append({ source: 'bpy', stream: 'stdout', message })
    // The first one is gone, and was read.
    expect((await follower.look(readOf(buffer)))?.facts).to.include({ gap: false })
    for (const message of 'efgh') buffer.append({ source: 'bpy', stream: 'stdout', message })
    const later = await follower.look(readOf(buffer))
    expect(messages(later)).to.deep.equal(['f', 'g', 'h'])
    expect(later?.lines[0]).to.equal(missing)
  })

  it('returns all events of the buffer of another run, and says that some may be missing', async () => {
    for (const next of [['new'], ['new', 'and', 'more']]) {
      const follower = createEventFollower(uri)
      await follower.start(readOf(bufferOf('a', 'b')))
      // Events are told apart by their times.
      await delay(2)
      const read = readOf(bufferOf(...next))
      const { news } = await follower.start(read)
      expect(messages(news)).to.deep.equal(next)
      expect(news?.lines[0]).to.equal(missing)
      expect(await follower.look(read)).to.equal(null)
    }
  })

  it('goes on after an event whose id is no number', async () => {
    const follower = createEventFollower(`${uri}?cursor=1`)
    const events = [{ id: { toString: 0, valueOf: 0 }, message: 'a' }]
    const text = JSON.stringify({ events, newest_cursor: 5, next_cursor: 2 })
    const read: Read = async asked => [{ kind: 'text', uri: asked, mimeType: null, text }]
    expect((await follower.start(read)).news).to.equal(null)
  })
})
