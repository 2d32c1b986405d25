import { expect } from 'chai'
import {
  createEventFollower,
  type EventNews,
} from '../../../../src/lib/mcp/client/event-follower.ts'
import type { Read } from '../../../../src/lib/mcp/client/follower.ts'
import { ServiceError } from '../../../../src/lib/util/errors.ts'
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
    const page = buffer.page({ cursor: numberOf('cursor'), limit: numberOf('limit') })
    return [{ kind: 'text', uri: asked, mimeType: null, text: JSON.stringify(page) }]
  }
}

const seen = ({ events, ...facts }: EventNews) => ({
  ...facts,
  messages: events.map(({ message }) => message),
})

describe('createEventFollower', () => {
  it('returns each event once, and says when some were dropped', async () => {
    const buffer = bufferOf('a')
    const follower = createEventFollower(uri)
    const facts = { gap: false, isNewBuffer: false }
    expect(seen(await follower.start(readOf(buffer)))).to.deep.equal({ ...facts, messages: ['a'] })
    expect(seen(await follower.look(readOf(buffer)))).to.deep.equal({ ...facts, messages: [] })
    for (const message of 'bcde') buffer.append({ source: 'bpy', stream: 'stdout', message })
    const news = { gap: true, isNewBuffer: false, messages: ['c', 'd', 'e'] }
    expect(seen(await follower.look(readOf(buffer)))).to.deep.equal(news)
  })

  it('returns all events of a new buffer, and says that it is new once', async () => {
    const follower = createEventFollower(uri)
    await follower.start(readOf(bufferOf('a', 'b')))
    const next = readOf(bufferOf('new'))
    const news = { gap: false, isNewBuffer: true, messages: ['new'] }
    expect(seen(await follower.look(next))).to.deep.equal(news)
    expect(seen(await follower.look(next))).to.include({ isNewBuffer: false })
  })

  it('goes on after an event whose id is no number', async () => {
    const follower = createEventFollower(`${uri}?cursor=1`)
    const events = [{ id: { toString: 0, valueOf: 0 }, message: 'a' }]
    const text = JSON.stringify({ events, newest_cursor: 5, next_cursor: 2 })
    const read: Read = async asked => [{ kind: 'text', uri: asked, mimeType: null, text }]
    expect(seen(await follower.start(read)).messages).to.deep.equal(['a'])
    expect(seen(await follower.look(read)).messages).to.deep.equal(['a'])
  })

  it('says that the buffer is new when it could be read only later', async () => {
    const follower = createEventFollower(uri)
    await follower.start(readOf(bufferOf('a', 'b')))
    const next = bufferOf('new')
    let reads = 0
    const failing: Read = async asked => {
      if (reads++ === 1) throw new ServiceError('network_failed', 'it is away')
      return readOf(next)(asked)
    }
    expect(await follower.look(failing).catch(() => 'failed')).to.equal('failed')
    const news = { gap: false, isNewBuffer: true, messages: ['new'] }
    expect(seen(await follower.start(readOf(next)))).to.deep.equal(news)
  })
})
