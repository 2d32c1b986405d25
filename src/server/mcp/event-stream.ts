import type { ServerResponse } from 'node:http'
import type { Writable } from 'node:stream'
import type { ServerLimits } from '../http/limits.ts'
import type { Topic } from './subscriptions.ts'

/** How a transport writes what it pushes; complete events, ready for the wire. */
export interface StreamEncoder {
  update(topic: Topic): Uint8Array
  /** Null: the client does not want to hear of it. */
  readonly listChanged: Uint8Array | null
}

export const eventStreamHeaders = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-cache, no-transform',
  'X-Accel-Buffering': 'no',
} as const

const keepAliveFrame = Buffer.from(':\n\n')

/** One event. No ids: delivery is best effort, nothing is replayed, so nothing can be resumed. */
export function eventFrame(message: object): Buffer {
  const data = JSON.stringify({ jsonrpc: '2.0', ...message })
  return Buffer.from(`event: message\ndata: ${data}\n\n`)
}

/**
 * One stream of server-sent events. While its buffer is full updates are dropped and only their
 * topics remembered, so that a slow reader costs one flag per URI and, once it reads again, is told
 * once about the newest state.
 */
export class EventStream {
  readonly #res: ServerResponse
  readonly #encoder: StreamEncoder
  readonly #limits: ServerLimits
  #out: Writable
  #lastTurn = -1
  readonly #missed = new Set<Topic>()
  #missedList = false
  /** Null: it may be written to. Updates before it is open are kept as those of a full one. */
  #fullSinceMs: number | null = performance.now()

  constructor(res: ServerResponse, encoder: StreamEncoder, limits: ServerLimits) {
    this.#res = res
    this.#encoder = encoder
    this.#limits = limits
    this.#out = res
  }

  /** Begins the answer; `first` goes out before anything else. */
  open(first?: Uint8Array): void {
    const res = this.#res
    // The stream ends with its connection, so its bytes need no chunks around them. They go to
    // the socket itself: what `res.write` adds costs more than the write. A pipelined request has
    // no socket yet and goes the long way.
    res.removeHeader('Transfer-Encoding')
    res.writeHead(200, { Connection: 'close', ...eventStreamHeaders })
    res.flushHeaders()
    this.#out = res.socket ?? res
    this.#out.on('drain', () => this.#resume())
    const timer = setInterval(() => this.#keepAlive(), this.#limits.streamKeepAliveMs)
    timer.unref()
    res.on('close', () => clearInterval(timer))
    if (first !== undefined) this.#write(first)
    this.#resume()
  }

  resourceUpdated(topic: Topic): void {
    if (this.#fullSinceMs === null) this.#write(this.#encoder.update(topic))
    else this.#missed.add(topic)
  }

  listChanged(): void {
    const { listChanged } = this.#encoder
    if (listChanged === null) return
    if (this.#fullSinceMs === null) this.#write(listChanged)
    else this.#missedList = true
  }

  /** Writes `last` behind what is out already, and closes. */
  end(last?: Uint8Array): void {
    this.#missed.clear()
    this.#missedList = false
    if (last !== undefined) this.#write(last)
    this.#res.end()
  }

  /** One comment line; or the end, when the reader has taken nothing for `streamStallMs`. */
  #keepAlive(): void {
    if (this.#fullSinceMs === null) this.#write(keepAliveFrame)
    else if (performance.now() - this.#fullSinceMs >= this.#limits.streamStallMs)
      this.#res.destroy()
  }

  #resume(): void {
    this.#fullSinceMs = null
    if (this.#missedList) {
      this.#missedList = false
      this.listChanged()
    }
    for (const topic of this.#missed) {
      if (this.#fullSinceMs !== null) return
      this.#missed.delete(topic)
      this.#write(this.#encoder.update(topic))
    }
  }

  #write(bytes: Uint8Array): void {
    if (this.#res.destroyed || this.#res.writableEnded) return
    const turn = currentTurn()
    if (turn === this.#lastTurn) holdUntilTurnEnds(this.#out)
    this.#lastTurn = turn
    if (!this.#out.write(bytes)) this.#fullSinceMs = performance.now()
  }
}

/*
 * Writes of one turn of the event loop are gathered. A single update goes straight to the socket; in
 * a burst, all that follow the first one are held until the turn ends and leave in one write. The
 * bookkeeping is one callback per turn, however many streams there are.
 */
let turn = 0
let isTurnEndScheduled = false
const corked: Writable[] = []

function currentTurn(): number {
  if (!isTurnEndScheduled) {
    isTurnEndScheduled = true
    process.nextTick(() => {
      isTurnEndScheduled = false
      turn++
      for (const out of corked.splice(0)) out.uncork()
    })
  }
  return turn
}

function holdUntilTurnEnds(out: Writable): void {
  if (out.writableCorked > 0) return
  out.cork()
  corked.push(out)
}
