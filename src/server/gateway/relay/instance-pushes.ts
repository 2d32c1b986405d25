import { createParser } from 'eventsource-parser'
import type { Readable } from 'node:stream'
import { Unreachable } from '../../../lib/mcp/bridge/bridge-errors.ts'
import { onAbort } from '../../../lib/util/abort.ts'
import { arrayOf, isJsonObject, type JsonObject, parseJson } from '../../../lib/util/json.ts'
import { ServiceError } from '../../../lib/util/errors.ts'
import { pause, retryDelay, systemTimer } from '../../../lib/util/time.ts'
import { maxUrisPerClient } from '../../mcp/subscriptions.ts'
import { ResourceNotFound } from '../../resources/errors.ts'
import { collect } from './instance-answer.ts'
import { answeredError, errorIn, refusedError, unreachable } from './relay-errors.ts'
import type { InstanceAnswer } from './transport.ts'

const maxEventBytes = 256 * 1024

/** Told of changes of what it follows. */
export interface Follower {
  updated(uri: string): void
  /** The instance lists other resources. */
  listChanged(): void
}

interface PushesParts {
  /** Sends `subscriptions/listen`. */
  readonly listen: (uris: string[], signal: AbortSignal) => Promise<InstanceAnswer>
  /** The instance must acknowledge a stream within this time. */
  readonly answerMs: number
  /** Whether the instance has ended. */
  readonly isGone: () => Promise<boolean>
}

/** One URI that clients of the gateway follow. */
interface Followed {
  readonly followers: Set<Follower>
  /** Settles with the first answer of the instance, or when it cannot be reached now. */
  readonly accepted: PromiseWithResolvers<void>
  /** `waiting`: updates come later. */
  state: 'new' | 'held' | 'waiting'
}

type Asked = ReadonlyMap<string, Followed>

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

  get isFollowed(): boolean {
    return this.#streams.some(({ followed }) => followed.size > 0)
  }

  /**
   * Resolves when updates of the URI arrive; rejects with a `ServiceError`. Of an instance that cannot
   * be reached now they arrive later: the first when it can.
   */
  follow(uri: string, follower: Follower): Promise<void> {
    let stream = this.#streams.find(({ followed }) => followed.has(uri))
    stream ??= this.#streams.find(({ followed }) => followed.size < maxUrisPerClient)
    if (stream === undefined) this.#streams.push((stream = new FollowedStream(this.#parts)))
    return stream.follow(uri, follower)
  }

  unfollow(uri: string, follower: Follower): void {
    for (const stream of this.#streams) stream.unfollow(uri, follower)
  }

  /** The instance may be reached again: tries at once. */
  retry(): void {
    for (const stream of this.#streams) stream.change()
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
  #isRunning = false
  /** Aborted when the set has changed, or the instance may be reached again. */
  #changed = new AbortController()

  constructor(parts: PushesParts) {
    this.#parts = parts
  }

  follow(uri: string, follower: Follower): Promise<void> {
    let known = this.followed.get(uri)
    if (known === undefined) {
      const accepted = Promise.withResolvers<void>()
      accepted.promise.catch(() => {})
      known = { followers: new Set(), accepted, state: 'new' }
      this.followed.set(uri, known)
      this.change()
    }
    known.followers.add(follower)
    return known.accepted.promise
  }

  unfollow(uri: string, follower: Follower): void {
    const known = this.followed.get(uri)
    if (known?.followers.delete(follower) !== true || known.followers.size > 0) return
    this.followed.delete(uri)
    known.accepted.reject(new ServiceError('cancelled', 'it is not followed any more'))
    this.change()
  }

  change(): void {
    this.#changed.abort()
    if (this.#isRunning || this.followed.size === 0 || this.#closing.signal.aborted) return
    this.#isRunning = true
    void this.#run().finally(() => {
      this.#isRunning = false
      // A client may have come at the very end.
      if ([...this.followed.values()].some(({ state }) => state === 'new')) this.change()
    })
  }

  close(): void {
    this.#closing.abort()
    this.#changed.abort()
    this.#refuse(() => new ServiceError('cancelled', 'the gateway stops'))
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing
    let open: OpenStream | null = null
    for (let attempt = 0; this.followed.size > 0 && !signal.aborted;) {
      // Before the attempt: the set may change while it is made.
      this.#changed = new AbortController()
      const asked = new Map(this.followed)
      try {
        const next = await this.#open([...asked.keys()])
        // What changed without a subscription is not known.
        this.#acknowledged(asked, next.honoured, open === null || open.isOver)
        open?.body.destroy()
        open = next
        attempt = 0
        await Promise.race([next.over, aborted(this.#changed.signal)])
        if (!next.isOver) continue
      } catch (error) {
        if (signal.aborted) break
        if (await this.#parts.isGone()) {
          this.#refuse(() => unreachable('it has ended'))
          break
        }
        if (error instanceof Refused) this.#refuse(error.of, asked)
        else this.#wait()
      }
      const waiting = AbortSignal.any([signal, this.#changed.signal])
      await pause(systemTimer, retryDelay(attempt++, Math.random), waiting)
    }
    open?.body.destroy()
  }

  /** Resolves when the instance has acknowledged a stream with all that is followed. */
  async #open(uris: string[]): Promise<OpenStream> {
    const cancel = new AbortController()
    const release = onAbort(this.#closing.signal, () => cancel.abort())
    const late = setTimeout(() => cancel.abort(), this.#parts.answerMs)
    try {
      const { status, headers, body } = await this.#parts.listen(uris, cancel.signal)
      if (headers['content-type']?.startsWith('text/event-stream') !== true) {
        const { bytes } = await collect(body)
        body.destroy()
        // Any other status may be over soon.
        if (status !== 200 && status !== 401)
          throw new Unreachable(`it answers with HTTP ${status}`)
        throw new Refused(uri =>
          status === 200 ? answeredError(errorIn(bytes), uri) : refusedError(status, bytes, uri),
        )
      }
      body.on('error', () => {})
      const honoured = Promise.withResolvers<readonly unknown[]>()
      readEvents(body, (method, params) => {
        const { notifications, uri } = params
        if (method === 'notifications/resources/updated') this.#tell(String(uri))
        else if (method === 'notifications/resources/list_changed') this.#listChanged()
        else if (method === 'notifications/subscriptions/acknowledged') {
          const all = isJsonObject(notifications) ? notifications : {}
          honoured.resolve(arrayOf(all.resourceSubscriptions))
        }
      })
      const stream = { honoured: [] as readonly unknown[], isOver: false, body, over: closed(body) }
      void stream.over.then(() => (stream.isOver = true))
      const ended = stream.over.then(() => {
        throw new Unreachable('the stream was cut')
      })
      stream.honoured = await Promise.race([honoured.promise, ended])
      return stream
    } finally {
      clearTimeout(late)
      // From now on the end of the gateway ends `#run`.
      release()
    }
  }

  #acknowledged(asked: Asked, honoured: readonly unknown[], wasLost: boolean): void {
    const held = new Set(honoured)
    for (const [uri, each] of asked) {
      const { state } = each
      if (held.has(uri)) {
        each.state = 'held'
        if (state === 'new') each.accepted.resolve()
        else if (wasLost || state === 'waiting') this.#tell(uri)
      } else if (state === 'new') this.#refuseOne(uri, each, notOffered(uri))
      else if (state === 'held') this.#lose(uri, each)
    }
  }

  /** The instance cannot be reached now: updates come later. */
  #wait(): void {
    for (const each of this.followed.values()) {
      if (each.state !== 'new') continue
      each.state = 'waiting'
      each.accepted.resolve()
    }
  }

  #refuse(of: (uri: string) => ServiceError, asked: Asked = this.followed): void {
    for (const [uri, each] of asked) {
      if (each.state === 'new') this.#refuseOne(uri, each, of(uri))
      else this.#lose(uri, each)
    }
  }

  #refuseOne(uri: string, each: Followed, error: ServiceError): void {
    if (this.followed.get(uri) === each) this.followed.delete(uri)
    each.accepted.reject(error)
  }

  /** Its followers read, and learn why it is not offered any more. */
  #lose(uri: string, each: Followed): void {
    if (each.state === 'held') this.#tell(uri)
    each.state = 'waiting'
  }

  /** What is not followed is passed on to no client. */
  #tell(uri: string): void {
    for (const follower of this.followed.get(uri)?.followers ?? []) follower.updated(uri)
  }

  #listChanged(): void {
    const all = [...this.followed.values()]
    for (const each of new Set(all.flatMap(({ followers }) => [...followers]))) each.listChanged()
    // What was not offered may be now.
    if (all.some(({ state }) => state === 'waiting')) this.change()
  }
}

/** A stream that the instance has acknowledged. */
interface OpenStream {
  readonly body: Readable
  /** URIs whose updates come. */
  readonly honoured: readonly unknown[]
  readonly over: Promise<unknown>
  readonly isOver: boolean
}

/** The instance refuses the stream; `of` is the error for a follower of one URI. */
class Refused extends Error {
  readonly of: (uri: string) => ServiceError

  constructor(of: (uri: string) => ServiceError) {
    super()
    this.of = of
  }
}

function notOffered(uri: string): ServiceError {
  const error = new ResourceNotFound(uri)
  error.message += '; the instance says: it cannot be followed'
  return error
}

/** Reads the notifications of an event stream; one that has an event without end is cut. */
function readEvents(body: Readable, notified: (method: string, params: JsonObject) => void): void {
  const decoder = new TextDecoder()
  const parser = createParser({
    maxBufferSize: maxEventBytes,
    onEvent({ data }) {
      const parsed = parseJson(data, 64)
      if (!parsed.ok || !isJsonObject(parsed.value)) return
      const { method, params } = parsed.value
      if (typeof method === 'string') notified(method, isJsonObject(params) ? params : {})
    },
    onError({ type }) {
      if (type === 'max-buffer-size-exceeded') body.destroy()
    },
  })
  body.on('data', (chunk: Buffer) => parser.feed(decoder.decode(chunk, { stream: true })))
}

function closed(body: Readable): Promise<void> {
  return new Promise(resolve => void body.once('close', resolve))
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise(resolve => void onAbort(signal, resolve))
}
