import type { ServerResponse } from 'node:http'
import type { Writable } from 'node:stream'
import type { GatheredWrites } from '../gathered-writes.ts'
import type { Topic } from '../subscriptions.ts'

/** Wire shape of a session era's update; the key under which a topic keeps its encoding. */
const shape = 'session-sse'

const listChangedFrame = frame({
  jsonrpc: '2.0',
  method: 'notifications/resources/list_changed',
})
const keepAliveFrame = Buffer.from(':\n\n')

/** No event ids: delivery is best effort, nothing is replayed, so there is nothing to resume from. */
function frame(message: object): Buffer {
  return Buffer.from(`event: message\ndata: ${JSON.stringify(message)}\n\n`)
}

function encodeUpdate(uri: string): Buffer {
  return frame({ jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri } })
}

/**
 * The stream of one GET. While its buffer is full updates are dropped and only their topics
 * remembered, so that a slow reader costs one flag per URI and, once it reads again, is told once
 * about the newest state.
 */
export class EventStream {
  readonly #res: ServerResponse
  readonly #out: Writable
  readonly #gathered: GatheredWrites
  readonly #clockNow: () => number
  #lastTurn = -1
  readonly #missed = new Set<Topic>()
  #missedList = false
  #fullSinceMs: number | null = null
  #dropped = 0

  constructor(res: ServerResponse, gathered: GatheredWrites, now: () => number) {
    this.#res = res
    this.#gathered = gathered
    this.#clockNow = now
    // The stream ends with its connection, so its bytes need no chunks around them. They go to
    // the socket itself: what `res.write` adds costs more than the write. A pipelined GET has no
    // socket yet and goes the long way.
    res.removeHeader('Transfer-Encoding')
    res.writeHead(200, {
      Connection: 'close',
      'Content-Type': 'text/event-stream',
      'Cache-Control': 'no-cache, no-transform',
      'X-Accel-Buffering': 'no',
    })
    res.flushHeaders()
    this.#out = res.socket ?? res
    this.#out.on('drain', () => this.#resume())
  }

  /** Updates not written at once because the reader was behind. */
  get dropped(): number {
    return this.#dropped
  }

  resourceUpdated(topic: Topic): void {
    if (this.#fullSinceMs === null) {
      this.#write(topic.encoded(shape, encodeUpdate))
      return
    }
    this.#dropped++
    this.#missed.add(topic)
  }

  listChanged(): void {
    if (this.#fullSinceMs === null) {
      this.#write(listChangedFrame)
      return
    }
    this.#dropped++
    this.#missedList = true
  }

  /** The subscription ended: a missed update of it is no longer wanted. */
  forget(uri: string): void {
    for (const topic of this.#missed) if (topic.uri === uri) this.#missed.delete(topic)
  }

  /** One comment line; or the end, when the reader has taken nothing for `stallMs`. */
  keepAlive(stallMs: number): void {
    if (this.#fullSinceMs === null) this.#write(keepAliveFrame)
    else if (this.#clockNow() - this.#fullSinceMs >= stallMs) this.#res.destroy()
  }

  end(): void {
    this.#missed.clear()
    this.#res.end()
  }

  #resume(): void {
    this.#fullSinceMs = null
    if (this.#missedList) {
      this.#missedList = false
      this.#write(listChangedFrame)
    }
    for (const topic of this.#missed) {
      if (this.#fullSinceMs !== null) return
      this.#missed.delete(topic)
      this.#write(topic.encoded(shape, encodeUpdate))
    }
  }

  #write(bytes: Buffer): void {
    if (this.#res.destroyed || this.#res.writableEnded) return
    const { turn } = this.#gathered
    if (turn === this.#lastTurn) this.#gathered.hold(this.#out)
    this.#lastTurn = turn
    if (!this.#out.write(bytes)) this.#fullSinceMs = this.#clockNow()
  }
}
