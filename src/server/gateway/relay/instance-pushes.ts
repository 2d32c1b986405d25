import { createParser } from 'eventsource-parser'
import type { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { Unreachable } from '../../../lib/mcp/bridge/bridge-errors.ts'
import { onAbort } from '../../../lib/util/abort.ts'
import { arrayOf, isJsonObject, parseJson } from '../../../lib/util/json.ts'
import { ServiceError } from '../../../lib/util/errors.ts'
import { retryDelay } from '../../../lib/util/time.ts'
import { ResourceNotFound } from '../../resources/errors.ts'
import { answerError, unreachable } from './relay-errors.ts'
import type { InstanceAnswer } from './transport.ts'

const maxEventBytes = 256 * 1024
/** Of one stream: at 2 KiB each they fit into a request that an instance takes. */
const maxUris = 400

/** Told of each update of a URI that it follows. */
export type Follower = (uri: string) => void

interface PushesParts {
  /** Sends `subscriptions/listen`. */
  readonly listen: (uris: string[], signal: AbortSignal) => Promise<InstanceAnswer>
  /** The instance must acknowledge a stream within this time. */
  readonly answerMs: number
}

/** One URI that clients of the gateway follow. */
interface Followed {
  readonly followers: Set<Follower>
  /** Settles with the first answer of the instance, or when it cannot be reached now. */
  readonly accepted: PromiseWithResolvers<void>
  isAccepted: boolean
}

/** The error for a follower of the URI, whom the instance refuses. */
type Refusal = (uri: string) => ServiceError

/** A stream that the instance has acknowledged. */
interface OpenStream {
  readonly body: Readable
  /** URIs whose updates come. */
  readonly honoured: readonly unknown[]
  readonly ended: Promise<void>
}

/**
 * The subscriptions at one instance: one stream with all URIs that are followed, each once however
 * many clients follow it. More than one stream is open only beyond the bound of a stream.
 */
export class InstancePushes {
  readonly #parts: PushesParts
  readonly #streams: FollowedStream[] = []

  constructor(parts: PushesParts) {
    this.#parts = parts
  }

  /**
   * Resolves when updates of the URI arrive; rejects with a `ServiceError`. Of an instance that cannot
   * be reached now they arrive later: the first when it can.
   */
  follow(uri: string, follower: Follower): Promise<void> {
    let stream = this.#streams.find(({ followed }) => followed.has(uri))
    stream ??= this.#streams.find(({ followed }) => followed.size < maxUris)
    if (stream === undefined) this.#streams.push((stream = new FollowedStream(this.#parts)))
    return stream.follow(uri, follower)
  }

  unfollow(uri: string, follower: Follower): void {
    for (const stream of this.#streams) stream.unfollow(uri, follower)
  }

  /** The instance may be reached again: tries at once. */
  retry(): void {
    for (const stream of this.#streams) if (!stream.isOpen) stream.change()
  }

  close(): void {
    for (const stream of this.#streams) stream.close()
  }
}

/** One stream. When its set changes, the next one is opened before it is closed. */
class FollowedStream {
  readonly followed = new Map<string, Followed>()
  readonly #parts: PushesParts
  readonly #closing = new AbortController()
  /** URIs whose updates came with the last stream. */
  #held: ReadonlySet<unknown> = new Set()
  #isRunning = false
  #stream: OpenStream | null = null
  /** Resolves when the set has changed, or the instance may be reached again. */
  #changed = Promise.withResolvers<void>()

  constructor(parts: PushesParts) {
    this.#parts = parts
  }

  get isOpen(): boolean {
    return this.#stream?.body.closed === false
  }

  follow(uri: string, follower: Follower): Promise<void> {
    const known = this.followed.get(uri)
    known?.followers.add(follower)
    if (known !== undefined) return known.accepted.promise
    const accepted = Promise.withResolvers<void>()
    this.followed.set(uri, { followers: new Set([follower]), accepted, isAccepted: false })
    this.change()
    return accepted.promise
  }

  unfollow(uri: string, follower: Follower): void {
    const known = this.followed.get(uri)
    if (known?.followers.delete(follower) !== true || known.followers.size > 0) return
    this.followed.delete(uri)
    known.accepted.reject(new ServiceError('cancelled', 'it is not followed any more'))
    this.change()
  }

  change(): void {
    this.#changed.resolve()
    if (!this.#isRunning && !this.#closing.signal.aborted) void this.#run()
  }

  close(): void {
    this.#closing.abort()
    this.#changed.resolve()
    for (const { accepted } of this.followed.values()) accepted.reject(unreachable('it is closed'))
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    for (let attempt = 0; this.followed.size > 0 && !this.#closing.signal.aborted;) {
      // Before the attempt: the set may change while it is made.
      this.#changed = Promise.withResolvers<void>()
      const { promise: changed } = this.#changed
      const asked = [...this.followed.keys()]
      try {
        const next = await this.#open(asked)
        if (typeof next === 'function') this.#settle(asked, [], next)
        else {
          // What changed without a subscription is not known.
          this.#settle(asked, next.honoured, notOffered, !this.isOpen)
          this.#stream?.body.destroy()
          this.#stream = next
          attempt = 0
          await Promise.race([next.ended, changed])
          if (this.isOpen) continue
        }
      } catch {
        // The instance cannot be reached now: updates come later.
        for (const each of this.followed.values()) accept(each)
      }
      const retryMs = retryDelay(attempt++, Math.random)
      await Promise.race([delay(retryMs, undefined, { ref: false }), changed])
    }
    this.#isRunning = false
    this.#stream?.body.destroy()
  }

  /** Resolves when the instance has acknowledged a stream with all that is followed, or refused it. */
  async #open(uris: string[]): Promise<OpenStream | Refusal> {
    const cancel = new AbortController()
    const release = onAbort(this.#closing.signal, () => cancel.abort())
    const late = setTimeout(() => cancel.abort(), this.#parts.answerMs)
    try {
      const answer = await this.#parts.listen(uris, cancel.signal)
      const { status, headers } = answer
      if (headers['content-type']?.startsWith('text/event-stream') !== true) {
        const { bytes } = await answer.body.collect()
        answer.body.destroy()
        if (status >= 500) throw new Unreachable(`HTTP ${status}`)
        return uri => answerError(status, bytes, uri)
      }
      const body = answer.body.stream()
      const honoured = this.#listenTo(body)
      const ended = new Promise<void>(resolve => void body.once('close', resolve))
      const cut = ended.then(() => {
        throw new Unreachable('the stream was cut')
      })
      return { body, ended, honoured: await Promise.race([honoured, cut]) }
    } finally {
      clearTimeout(late)
      // From now on the end of the gateway ends `#run`.
      release()
    }
  }

  /** Resolves with the URIs of which the instance acknowledges that their updates come. */
  #listenTo(body: Readable): Promise<readonly unknown[]> {
    const { promise, resolve } = Promise.withResolvers<readonly unknown[]>()
    const decoder = new TextDecoder()
    const parser = createParser({
      maxBufferSize: maxEventBytes,
      onEvent: ({ data }) => {
        const parsed = parseJson(data, 64)
        if (!parsed.ok || !isJsonObject(parsed.value)) return
        const { method, params } = parsed.value
        const { notifications, uri } = isJsonObject(params) ? params : {}
        if (method === 'notifications/resources/updated') this.#tell(String(uri))
        else if (method === 'notifications/subscriptions/acknowledged') {
          resolve(isJsonObject(notifications) ? arrayOf(notifications.resourceSubscriptions) : [])
        } else if (method === 'notifications/resources/list_changed') {
          // What was not offered may be now.
          if (this.followed.keys().some(each => !this.#held.has(each))) this.change()
        }
      },
      onError({ type }) {
        if (type === 'max-buffer-size-exceeded') body.destroy()
      },
    })
    body.on('data', (chunk: Buffer) => parser.feed(decoder.decode(chunk, { stream: true })))
    return promise
  }

  /** The instance has answered for these URIs. `wasLost`: there were none of their updates for a while. */
  #settle(asked: string[], honoured: readonly unknown[], refusal: Refusal, wasLost = false): void {
    const before = this.#held
    this.#held = new Set(honoured)
    for (const uri of asked) {
      const each = this.followed.get(uri)
      const [wasHeld, isHeld] = [before.has(uri), this.#held.has(uri)]
      if (each?.isAccepted === true) {
        // Followers of what is not offered any more read, and learn why.
        if (wasHeld !== isHeld || (isHeld && wasLost)) this.#tell(uri)
      } else if (each !== undefined && isHeld) accept(each)
      else {
        this.followed.delete(uri)
        each?.accepted.reject(refusal(uri))
      }
    }
  }

  /** What is not followed is passed on to no client. */
  #tell(uri: string): void {
    for (const follower of this.followed.get(uri)?.followers ?? []) follower(uri)
  }
}

function accept(followed: Followed): void {
  followed.isAccepted = true
  followed.accepted.resolve()
}

function notOffered(uri: string): ServiceError {
  const error = new ResourceNotFound(uri)
  error.message += '; the instance says: it cannot be followed'
  return error
}
