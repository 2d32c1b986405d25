import { expect } from 'chai'
import { ServiceError } from '../../../src/lib/util/errors.ts'
import { EventBuffers } from '../../../src/server/host/event-buffers.ts'
import { ManualTime } from '../resources/manual-time.ts'
import { MemorySink } from '../../server/host/memory-sink.ts'

describe('EventBuffers', () => {
  let sink: MemorySink
  let buffers: EventBuffers
  let timer: ManualTime
  beforeEach(() => {
    sink = new MemorySink()
    timer = new ManualTime()
    buffers = new EventBuffers(sink, { max: 3, graceMs: 60_000, timer })
  })

  const readable = () => [...sink.buffers.keys()]
  const open = (...ids: string[]) => ids.forEach(id => buffers.open(id))

  it('makes a buffer once, in the form of the first call', () => {
    const first = buffers.open('a', { maxlen: 1 })
    const again = buffers.open('a', { maxlen: 1000 })
    expect(again).to.equal(first)
    for (const message of ['1', '2']) {
      again.append({ source: 's', stream: 'o', level: 'info', message })
    }
    expect(again.droppedCount).to.equal(1)
  })

  it('refuses one too many while all are open, and goes on with the known ones', () => {
    open('a', 'b', 'c')
    expect(() => buffers.open('d'))
      .to.throw(ServiceError, 'the server keeps 3 sessions of events')
      .with.property('code', 'limit_reached')
    expect(buffers.open('a')).to.equal(sink.buffers.get('a'))
    expect(readable()).to.deep.equal(['a', 'b', 'c'])
  })

  it('keeps ended ones readable until their place is needed, the one ended longest goes first', () => {
    open('a', 'b', 'c')
    expect(buffers.end('b')).to.equal(true)
    expect(buffers.end('a')).to.equal(true)
    expect(readable()).to.deep.equal(['a', 'b', 'c'])
    open('d')
    expect(readable()).to.deep.equal(['a', 'c', 'd'])
    open('e')
    expect(readable()).to.deep.equal(['c', 'd', 'e'])
    expect(() => buffers.open('f')).to.throw(ServiceError)
  })

  it('removes those of a lost application after the grace, unless they are opened again', () => {
    open('a', 'b', 'c')
    buffers.end('a')
    for (const id of ['a', 'b', 'c', 'unknown']) buffers.abandon(id)
    timer.advance(59_999)
    buffers.open('c')
    expect(readable()).to.deep.equal(['a', 'b', 'c'])
    timer.advance(1)
    expect(readable()).to.deep.equal(['c'])
    expect(timer.waiting).to.equal(0)
  })
})
