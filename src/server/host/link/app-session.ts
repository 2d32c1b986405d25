import { clearImmediate, setImmediate as nextTurn } from 'node:timers'
import { closeCodes } from '../../../lib/host-link/wire.ts'
import { fail, ok, type Result } from '../../../lib/util/result.ts'
import { refusedFromPages } from '../app-origins.ts'
import type { AppReply } from './app-answer.ts'
import { ArtefactIntake } from './artefact-intake.ts'
import type { Channel, ChannelReader } from './channel.ts'
import { parseFrame } from './incoming.ts'
import type { LinkDeps } from './link-deps.ts'
import type { Incoming } from './message-parsers.ts'
import { PictureFrame } from './pictures.ts'
import { isRetryable, LinkRefusal, refusalOf } from './failures.ts'
import { isWorthTelling, sceneIntervalMs, SceneSlot, maxSceneIntervalMs } from './scene-slot.ts'

interface AppSessionDeps extends Pick<
  LinkDeps,
  'sink' | 'buffers' | 'limits' | 'log' | 'clock' | 'ticks'
> {
  readonly channel: Channel
  /** Of the application. */
  readonly instanceId: string
}

/** Messages about the application itself and what it offers. */
export type SideMessage = Extract<Incoming, { type: SideType }>

interface SessionListener {
  /** Returns the members of the answer, or throws a `LinkRefusal`. */
  told(message: SideMessage): object
  /** The bytes of the picture, when the answer announced one. */
  answered(reply: AppReply, png: Buffer | null): void
  /** It said good-bye. `clear`: nothing that it shared may stay, except artefacts and the audit. */
  left(reason: string | undefined, clear: boolean): void
  /** The channel is closed. */
  ended(code: number): void
}

type SideType =
  | 'app.update'
  | 'heartbeat'
  | 'producer.register'
  | 'producer.unregister'
  | 'producer.list_changed'
  | 'resource.updated'

type Refused = Pick<LinkRefusal, 'code' | 'message'>

/** How much a new measurement weighs against those before it. */
const costWeight = 0.3

/** The messages of one connected application, in the order of their arrival. */
export class AppSession implements ChannelReader {
  readonly #deps: AppSessionDeps
  readonly #listener: SessionListener
  readonly #scenes: SceneSlot
  readonly #artefacts: ArtefactIntake
  readonly #picture = new PictureFrame()
  /** Sessions of events that this connection opened, also those it closed. */
  readonly #sessionIds = new Set<string>()
  #flushing: NodeJS.Immediate | undefined
  #sceneCostMs = 0
  #toldIntervalMs = 0

  constructor(deps: AppSessionDeps, listener: SessionListener) {
    this.#deps = deps
    this.#listener = listener
    this.#scenes = new SceneSlot(text => this.#takeScene(text))
    this.#artefacts = new ArtefactIntake({
      store: deps.sink.artefacts,
      limits: deps.limits,
      pause: () => deps.channel.pause(),
      resume: () => deps.channel.resume(),
    })
  }

  text(text: string): void {
    const { clock } = this.#deps
    if (this.#picture.isDue) return this.#break('the picture that was announced did not follow')
    const frame = parseFrame(text, clock.now())
    switch (frame.kind) {
      case 'message':
        return this.#message(frame.id, frame.message)
      case 'reply':
        return this.#answered(frame.reply)
      case 'refused':
        if (frame.announcedBytes !== undefined) this.#artefacts.passOver(frame.announcedBytes)
        this.#flush()
        return this.#refuse(frame.type, frame.id, frame)
      case 'broken':
        return this.#break(frame.reason)
    }
  }

  bytes(bytes: Buffer): void {
    if (this.#picture.isDue) {
      const arrived = this.#picture.take(bytes)
      if (typeof arrived === 'string') return this.#break(arrived)
      return this.#listener.answered(arrived.reply, arrived.png)
    }
    const wrong = this.#artefacts.feed(bytes)
    if (wrong !== null) this.#break(wrong)
  }

  closed(code: number): void {
    this.end()
    this.#listener.ended(code)
  }

  /**
   * Nothing more is taken. Not left to the close of the channel, which may come late: by then a
   * newer connection may have opened the same buffers.
   */
  end(): void {
    this.#artefacts.close()
    for (const sessionId of this.#sessionIds) this.#deps.buffers.abandon(sessionId)
    this.#sessionIds.clear()
  }

  #answered(reply: AppReply): void {
    // The scene that was sent before an answer to `refresh` is the one that its reader gets.
    this.#flush()
    const announced = this.#picture.announce(reply)
    if (typeof announced === 'string') this.#break(announced)
    else if (!announced) this.#listener.answered(reply, null)
  }

  #break(reason: string): void {
    this.#deps.channel.close(closeCodes.badMessage, reason)
  }

  #message(id: string | undefined, message: Incoming): void {
    if (message.type === 'scene.set') return this.#scene(id, message.text)
    // What was said before it holds before it.
    if (message.type !== 'heartbeat') this.#flush()
    if (message.type === 'bye') {
      if (message.clear) this.#removeBuffers()
      this.#answer(id, {})
      return this.#listener.left(message.reason, message.clear)
    }
    try {
      if (this.#deps.channel.fromPage && refusedFromPages.has(message.type)) {
        throw new LinkRefusal('unsupported', 'a web page sends no audit records and no notes')
      }
      const done = this.#handle(message)
      if (done instanceof Promise) {
        done.then(
          body => this.#answer(id, body),
          (error: unknown) => this.#failed(id, message, error),
        )
      } else this.#answer(id, done)
    } catch (error) {
      this.#failed(id, message, error)
    }
  }

  #handle(message: Exclude<Incoming, { type: 'scene.set' | 'bye' }>): object | Promise<object> {
    const { sink, buffers, instanceId } = this.#deps
    switch (message.type) {
      case 'scene.patch': {
        const { patch, base } = message
        return this.#timed(() => ({ revision: sink.scene.patch(patch, base, instanceId) }))
      }
      case 'hello':
        throw new LinkRefusal('invalid', 'hello was said already')
      case 'audit.record':
        for (const record of message.records) sink.audit.record(record)
        return { count: message.records.length }
      case 'events.open': {
        const buffer = buffers.open(message.sessionId, message)
        this.#sessionIds.add(message.sessionId)
        return { next_cursor: buffer.newestCursor }
      }
      case 'events.append': {
        const buffer = buffers.open(message.sessionId)
        this.#sessionIds.add(message.sessionId)
        for (const event of message.events) buffer.append(event)
        return { next_cursor: buffer.newestCursor, dropped: buffer.droppedCount }
      }
      case 'events.close':
        if (buffers.end(message.sessionId)) return {}
        throw new LinkRefusal('not_found', 'there is no such session of events')
      case 'checkpoint':
        return sink.checkpoints
          .add(message.input)
          .then(({ name, as_of, connected }) => ({ checkpoint: { name, as_of, connected } }))
      case 'note':
        if (sink.notes === null) throw new LinkRefusal('unsupported', 'notes are switched off')
        return message
          .write(sink.notes)
          .then(({ id, number, state }) => ({ note: { id, number, state } }))
      case 'artefact.put':
        return this.#artefacts.put(message)
      case 'artefact.abort':
        return this.#artefacts.abort(message.upload)
      default:
        return this.#listener.told(message)
    }
  }

  #removeBuffers(): void {
    for (const sessionId of this.#sessionIds) this.#deps.buffers.remove(sessionId)
    this.#sessionIds.clear()
  }

  #scene(id: string | undefined, text: string): void {
    this.#scenes.put(text, outcome => {
      if (!outcome.ok) return this.#refuse('scene.set', id, outcome.failure)
      const { revision, superseded } = outcome.value
      this.#answer(id, superseded ? { revision, superseded } : { revision })
    })
    // What arrived together with it is read first: a newer one may be among it.
    this.#flushing ??= nextTurn(() => this.#flush())
  }

  #flush(): void {
    if (this.#flushing === undefined) return
    clearImmediate(this.#flushing)
    this.#flushing = undefined
    this.#scenes.flush()
  }

  #takeScene(text: string): Result<number, LinkRefusal> {
    const { sink, instanceId, log } = this.#deps
    try {
      return ok(this.#timed(() => sink.setSceneText(text, instanceId)))
    } catch (error) {
      if (error instanceof TypeError) return fail(new LinkRefusal('invalid', `/${error.message}`))
      log.error({ err: error }, 'a scene could not be taken')
      return fail(new LinkRefusal('internal', 'the server failed to take the scene'))
    }
  }

  #timed<Value>(take: () => Value): Value {
    const { ticks } = this.#deps
    const startedMs = ticks.now()
    try {
      return take()
    } finally {
      // The text was parsed once before, as part of its message.
      this.#measured(2 * (ticks.now() - startedMs))
    }
  }

  #measured(costMs: number): void {
    const { channel } = this.#deps
    this.#sceneCostMs += (costMs - this.#sceneCostMs) * costWeight
    const intervalMs = sceneIntervalMs(this.#sceneCostMs, maxSceneIntervalMs)
    if (!isWorthTelling(this.#toldIntervalMs, intervalMs)) return
    this.#toldIntervalMs = intervalMs
    channel.send({ type: 'throttle', scene_min_interval_ms: intervalMs })
  }

  #failed(id: string | undefined, message: Incoming, error: unknown): void {
    const refusal = refusalOf(message.type, error)
    if (refusal !== null) return this.#refuse(message.type, id, refusal)
    this.#deps.log.error({ err: error, type: message.type }, 'a message of the application failed')
    const reason = 'the server failed; its log has the reason'
    this.#refuse(message.type, id, { code: 'internal', message: reason })
  }

  #answer(id: string | undefined, body: object): void {
    if (id !== undefined) this.#deps.channel.send({ type: 'ok', id, ...body })
  }

  #refuse(type: string | undefined, id: string | undefined, { code, message }: Refused): void {
    if (type === 'scene.set' || type === 'scene.patch') this.#deps.sink.scene.markUnconfirmed()
    const named = id === undefined ? {} : { id }
    const retryable = isRetryable(code)
    this.#deps.channel.send({ type: 'error', ...named, code, message, retryable })
  }
}
