import { randomUUID } from 'node:crypto'
import { monotonicClock, systemTimer } from '../util/time.ts'
import { silentLogger } from '../util/logger.ts'
import { omitUndefined } from '../util/members.ts'
import { version } from '../util/version.ts'
import { AppState, type HostApp } from './app-state.ts'
import { type ArtefactFacts, type ArtefactInput, artefactSource } from './artefact-source.ts'
import { AuditFeed, type EventBufferOptions, EventFeed } from './feeds.ts'
import {
  defaultClientLimits,
  type HostClientOptions,
  type HostClientServices,
  type ProducerHandle,
} from './host-client-options.ts'
import { Connection, type HostStatus } from './connection.ts'
import { HostLinkError } from './errors.ts'
import { explicitAddress, findServe } from './find-serve.ts'
import { StatusWatch, type WaitOptions } from './status-watch.ts'
import {
  type ActInput,
  HostNotes,
  type NoteAction,
  type NoteInput,
  type NoteState,
} from './host-notes.ts'
import { messageText } from './message-text.ts'
import type { AskFailure, Link, ServerWord } from './link.ts'
import { type PictureHandler, type PictureOptions, Pictures } from './pictures.ts'
import { type HostProducer, Producers } from './producers.ts'
import { Questions } from './questions.ts'
import type { ScenePatchInput } from './scene-patch.ts'
import { SceneFeed } from './scene-feed.ts'
import { type PutArtefact, Uploads } from './uploads.ts'
import type { DocumentState, LinkAuditRecord, LinkEvent, Mode } from './wire.ts'

/**
 * The application's end of the host link (docs/host-link.md). Queues data, within bounds, until a
 * server is connected, and sends the state again after a restart of the server. A started client
 * keeps the process alive until `stop()`, or until it is refused.
 *
 * @example
 * const host = HostClient.find({ dccType: 'pipeline', mode: 'background' })
 * host.start()
 * host.setScene({ name: 'shot 010' })
 */
export class HostClient {
  readonly #watch: StatusWatch
  readonly #app: AppState
  readonly #scene: SceneFeed
  readonly #audit: AuditFeed
  readonly #events: EventFeed
  readonly #producers: Producers
  readonly #pictures = new Pictures()
  readonly #questions: Questions
  readonly #uploads: Uploads
  readonly #notes: HostNotes
  readonly #connection: Connection

  /** Creates a client that searches its server; the members of `app` are options too. */
  static find(options: HostApp & Omit<HostClientOptions, 'app' | 'url' | 'token'>): HostClient {
    const { dccType, mode, version, pid, displayName, ...rest } = options
    const app = omitUndefined({ dccType, mode, version, pid, displayName })
    return new HostClient({ ...rest, app })
  }

  /** Throws `TypeError` for an invalid option, or a url without a token. */
  constructor(options: HostClientOptions, services: HostClientServices = {}) {
    const { app, url, token, registryDir, log = silentLogger, document = null } = options
    const { timer = systemTimer, clock = monotonicClock, random = Math.random, env } = services
    if ((url === undefined) !== (token === undefined)) {
      throw new TypeError('url and token belong together: give both, or neither')
    }
    const address = url === undefined || token === undefined ? null : explicitAddress(url, token)
    const limits = { ...defaultClientLimits, ...options.limits }
    const report = (what: string) => (failure: AskFailure) => {
      const error = `${what} was refused: ${failure.message} (${failure.code})`
      log.warn({ code: failure.code }, error)
      this.#connection.report(error)
    }
    const instanceId = options.instanceId ?? randomUUID()
    const heartbeat = (idleMs = 0) => this.#heartbeat(idleMs)
    const own = { app, instanceId, document, showsNotes: options.onNotes !== undefined }
    this.#app = new AppState({ ...own, clientVersion: version, heartbeat })
    const now = () => clock.now()
    this.#scene = new SceneFeed({ limits, timer, now, refused: report('the scene') })
    this.#audit = new AuditFeed({ limits, timer, refused: report('an audit record') })
    this.#events = new EventFeed({ limits, timer, refused: report('a session event or buffer') })
    this.#producers = new Producers({
      limits,
      timer,
      log,
      refused: (scheme, failure) => report(`the producer of ${scheme}`)(failure),
    })
    const find = (scheme: string) => this.#producers.find(scheme)
    this.#questions = new Questions({ find, pictures: this.#pictures, timer, log })
    const link = () => this.#connection.link
    this.#uploads = new Uploads(limits, link)
    this.#notes = new HostNotes({ link, log, onNotes: options.onNotes })
    this.#watch = new StatusWatch({ log, timer, onStatus: options.onStatus })
    const findAddress = async (known: string | null) =>
      address ??
      findServe({ dccType: app.dccType, registryDir, env, log, known: known ?? undefined })
    this.#connection = new Connection({
      limits,
      timer,
      clock,
      random,
      heartbeat,
      find: findAddress,
      hello: () => this.#app.hello(),
      feeds: [this.#app, this.#events, this.#producers, this.#scene, this.#audit],
      heard: (message, link) => this.#heard(message, link),
      changed: status => {
        if (status.state !== 'connected') this.#notes.linkEnded()
        this.#watch.changed(status)
      },
    })
  }

  /** The state of the link, with a sentence for people. */
  get status(): HostStatus {
    return this.#connection.status
  }

  /** Connects, and reconnects until `stop()`. Does nothing when already started. */
  start(): void {
    this.#connection.start()
  }

  /**
   * Sends queued data for up to a second and disconnects. Pending promises are rejected with
   * `stopped`. With `clear` the server removes the scene, the schemes and the event buffers of this
   * client, for a user who disconnects. Never rejects.
   */
  async stop(reason = 'quit', { clear = false }: { clear?: boolean } = {}): Promise<void> {
    const [audit, events] = [this.#audit.sender, this.#events]
    await this.#connection.flushed(() => audit.waiting + events.waiting > 0 || this.#scene.waiting)
    await this.#connection.stop(reason.slice(0, 255), clear)
    this.#scene.giveUp(new HostLinkError('stopped', 'the client was stopped'))
  }

  /**
   * Resolves when the link is open. Rejects with a `HostLinkError`: `refused` or `stopped` when it
   * will not open, `timeout` after `timeoutMs` milliseconds, `stopped` by `signal`.
   */
  connected(options: WaitOptions = {}): Promise<void> {
    return this.#watch.connected(() => this.status, options)
  }

  /**
   * Sets the scene; null clears it. Serialises it at once. Only the newest scene is sent. Throws
   * `TypeError` and keeps the old scene unless it is a JSON object (no NaN, no cycle, at most 62
   * levels) within the limit of the server: 8 MiB, or 64 MiB and 100,000 objects when all its
   * `objects` have different text ids.
   */
  setScene(scene: object | null): void {
    this.#scene.set(scene)
  }

  /**
   * Changes the scene that was set last, at the cost of what changes: `objects`, each with an `id`,
   * replace those of the same id or are added; `removed` are ids; `members` are other members of
   * the scene, `unset` names of such. Throws `TypeError` and changes nothing for a scene whose
   * objects have no ids, or one that gets too large.
   */
  patchScene(patch: ScenePatchInput): void {
    this.#scene.patch(patch)
  }

  /**
   * Resolves with the server's revision once it accepted the current scene or a later one; null
   * when no scene was set. Rejects with a `HostLinkError` when it is refused or the client stops.
   */
  sceneSettled(): Promise<number | null> {
    return handled(this.#scene.settled())
  }

  /** Sets the open document. Throws `TypeError` for an invalid member. */
  setDocument(document: DocumentState | null): void {
    this.#app.setDocument(document)
  }

  setMode(mode: Mode): void {
    this.#app.setMode(mode)
  }

  /** Sets why the application cannot answer now (1 to 255 characters), or null. */
  setBusy(busy: string | null): void {
    this.#app.setBusy(busy)
  }

  /**
   * Adds records to the audit log. Queues up to 1000; beyond that the oldest is dropped and
   * counted. Throws `TypeError` for a record that is not a JSON object or exceeds 1 MiB.
   */
  record(records: LinkAuditRecord | LinkAuditRecord[]): void {
    this.#audit.add(Array.isArray(records) ? records : [records])
  }

  /** Adds an event to the buffer of a session; bounds and errors are those of `record`. */
  log(sessionId: string, event: LinkEvent): void {
    this.#events.add(sessionId, event)
  }

  /**
   * Opens an event buffer with the given bounds; without it `log` opens one with the defaults.
   * Throws `TypeError` for an invalid argument, `HostLinkError` `limit` beyond 100 buffers.
   */
  openEvents(sessionId: string, options: EventBufferOptions = {}): void {
    this.#events.open(sessionId, options)
  }

  /** Ends a buffer; clients can still read its events. */
  closeEvents(sessionId: string): void {
    this.#events.close(sessionId)
  }

  /** Offers resources under a scheme. Throws `TypeError` for an invalid or used scheme. */
  addProducer(producer: HostProducer): ProducerHandle {
    const entry = this.#producers.add(producer)
    return {
      listChanged: () => this.#producers.listChanged(entry),
      updated: uri => this.#producers.updated(entry, uri),
      remove: () => this.#producers.remove(entry),
    }
  }

  /**
   * Offers pictures of the application, which the server requests for `capture://current_window`.
   * Returns a function that withdraws the offer. Throws `TypeError` when an offer exists.
   */
  provideCapture(handler: PictureHandler, options: PictureOptions = {}): () => void {
    this.#pictures.provide(handler, options)
    this.#app.setPictures(this.#pictures.offer)
    return () => {
      if (this.#pictures.withdraw(handler)) this.#app.setPictures(this.#pictures.offer)
    }
  }

  /** With true the server shows no pictures of the application, including those from outside. */
  denyCapture(denied: boolean): void {
    this.#pictures.deny(denied)
    this.#app.setPictures(this.#pictures.offer)
  }

  /**
   * Sends bytes, a file (its path) or a stream of known `size` to the artefact store, with
   * backpressure. Rejects with a `HostLinkError` (`disconnected` when no server is connected or the
   * link is lost, `stopped` by `signal`, else the code of the server), the error of the source or
   * the file system, or a `TypeError` for invalid facts. After an error the server keeps nothing.
   */
  putArtefact(
    input: ArtefactInput,
    facts: ArtefactFacts,
    { signal }: { signal?: AbortSignal } = {},
  ): Promise<PutArtefact> {
    return handled(this.#uploads.put(artefactSource(input), facts, signal))
  }

  /**
   * Makes a note of the user (docs/notes.md). Resolves once the server keeps it. Rejects with a
   * `HostLinkError` (`disconnected`, or the code of the server) or a `TypeError` for what is not
   * JSON. When the link is lost meanwhile, the server may have kept it.
   */
  addNote(note: NoteInput): Promise<NoteState> {
    return handled(this.#notes.add(note))
  }

  /** Takes an action on a note; an answer resolves when it is proved. Rejects as `addNote` does. */
  actOnNote(id: string, action: NoteAction, more: ActInput = {}): Promise<NoteState> {
    return handled(this.#notes.act(id, action, more))
  }

  #heard(message: ServerWord, link: Link): void {
    switch (message.type) {
      case 'read':
      case 'list':
      case 'capture':
        return void this.#questions.answer(link, message)
      case 'cancel':
        return this.#questions.cancel(message.id)
      case 'notes':
        return this.#notes.told({ notes: message.notes, pictures: message.pictures })
      case 'throttle':
        return this.#scene.throttle(message.scene_min_interval_ms)
    }
  }

  #heartbeat(idleMs: number): string {
    const { busy } = this.#app
    const [audit, events] = [this.#audit.sender, this.#events.sender]
    return messageText('heartbeat', {
      main_idle_ms: String(idleMs),
      queue_depth: String(audit.waiting + events.waiting + Number(this.#scene.waiting)),
      dropped: JSON.stringify({ audit: audit.queue.dropped, events: events.queue.dropped }),
      busy: busy === null ? undefined : JSON.stringify(busy),
    })
  }
}

/** Prevents an unhandled rejection when the caller ignores the promise. */
function handled<Value>(promise: Promise<Value>): Promise<Value> {
  promise.catch(() => {})
  return promise
}
