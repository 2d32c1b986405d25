import { invalidMember } from '../../../lib/host-link/check.ts'
import {
  type AppIdentity,
  type Message,
  noPictures,
  type OpenDocument,
  type PictureOffer,
} from '../../../lib/host-link/messages.ts'
import { closeCodes, type PictureTarget } from '../../../lib/host-link/wire.ts'
import { messageOf } from '../../../lib/util/errors.ts'
import type { JsonObject } from '../../../lib/util/json.ts'
import { fail, type Result } from '../../../lib/util/result.ts'
import { cleanText } from '../../../lib/util/text.ts'
import { type AppCaptureForm, noShots } from '../../capture/host-backend.ts'
import type { Capture, CaptureFailure } from '../../capture/backend.ts'
import { notePost } from '../../notes/note-posts.ts'
import { refusedFromPages } from '../app-origins.ts'
import type { HostParts } from '../endpoint.ts'
import type { EventBuffers } from '../event-buffers.ts'
import { LinkUploads, type Uploads } from '../uploads.ts'
import type { Channel, ChannelReader } from './channel.ts'
import { changeScene, LinkRefusal, refusalOf } from './failures.ts'
import { type Frame, parseLinkMessage, frameScene } from './frame.ts'
import { offeredPictures, pictureFailure } from './pictures.ts'
import { Requests } from './requests.ts'
import type { Schemes } from './schemes.ts'

/** The application is told to send a heartbeat this often. */
export const heartbeatMs = 5000

/** The main thread of the application counts as busy when it is away for longer. */
const busyMs = 2000

/** Bytes of the notes that are sent to the application; clients of the link take 8 MiB. */
const maxNotesBytes = 4 * 1024 * 1024

export interface SessionParts extends HostParts {
  readonly buffers: EventBuffers
  readonly uploads: Uploads
  readonly schemes: Schemes
  readonly channel: Channel
}

/** One connection of an application, from its hello on: its messages, in the order of their arrival. */
export class LinkSession implements ChannelReader {
  readonly instanceId: string
  readonly #parts: SessionParts
  readonly #requests: Requests
  readonly #uploads: LinkUploads
  /** Sessions of events that this connection opened. */
  readonly #eventSessions = new Set<string>()
  #app: AppIdentity
  #document: OpenDocument
  #pictures: PictureOffer
  /** An answer whose picture is the next binary frame: nothing else tells it from an artefact. */
  #pictured: JsonObject | null = null
  readonly #hello: Message<'hello'>
  /** End what is shown in the application. */
  readonly #stops: (() => void)[] = []
  #isConnected = true
  #cleared: string | undefined

  constructor(hello: Message<'hello'>, parts: SessionParts) {
    const { channel, limits } = parts
    this.#hello = hello
    this.instanceId = hello.instance_id
    this.#parts = parts
    this.#app = hello.app
    this.#document = hello.document ?? null
    this.#pictures = hello.capture ?? noPictures
    this.#uploads = new LinkUploads(parts.uploads, limits.maxArtefactBytes, channel)
    this.#requests = new Requests(channel, limits.maxMessageBytes)
  }

  /** The application is welcome: its messages are taken from now on. */
  start(): void {
    const { channel, log, registry } = this.#parts
    const { app, scene_refresh, notes } = this.#hello
    // The scene may have changed while the application was away.
    registry.scene.markUnconfirmed()
    if (scene_refresh === true) {
      registry.scene.demand.supply({
        refresh: () => this.#requests.refresh(),
        demand: scene => void channel.send({ type: 'demand', scene }),
      })
    }
    if (notes === true && !channel.isPage) {
      this.#stops.push(this.#showNotes(), this.#showClients())
    }
    channel.setReader(this)
    const { dcc_type, version, mode, pid } = app
    log.info({ dcc_type, version, mode, pid }, 'application connected')
    this.#changed()
  }

  get isConnected(): boolean {
    return this.#isConnected
  }

  /** What pictures of itself the application offers now. */
  get pictures(): PictureOffer {
    return this.#pictures
  }

  /** For people: `blender 3.4.1, process 4711`. */
  get title(): string {
    const { dcc_type, version, pid } = this.#app
    const named = version === undefined ? dcc_type : `${dcc_type} ${version}`
    return pid === undefined ? named : `${named}, process ${pid}`
  }

  /** Asks the application for a picture. Never rejects. */
  async capture(form: AppCaptureForm): Promise<Result<Capture, CaptureFailure>> {
    if (this.#pictures.denied) return fail(pictureFailure('permission'))
    if (form.shot !== undefined && this.#pictures.shots !== true) return fail(noShots)
    const offered = offeredPictures(this.#pictures, form.view)
    if (offered.ok) return this.#requests.capture(form)
    return fail({ reason: 'failed', message: offered.failure.message })
  }

  /** A client got a picture of the application. */
  captured(target: PictureTarget): void {
    this.#parts.channel.send({ type: 'captured', target })
  }

  message(frame: Frame): void {
    const { type, value } = frame
    if (type !== 'ok' && type !== 'error') void this.#receive(frame)
    else if (type === 'ok' && typeof value['png_bytes'] === 'number') this.#pictured = value
    else this.#requests.settle(value, null)
  }

  bytes(bytes: Buffer): void {
    const answer = this.#pictured
    this.#pictured = null
    if (answer !== null) return this.#requests.settle(answer, bytes)
    const wrong = this.#uploads.feed(bytes)
    if (wrong !== null) this.#parts.channel.close(closeCodes.badMessage, wrong)
  }

  closed(code: number): void {
    if (!this.#isConnected) return
    this.#parts.log.warn({ close_code: code }, 'application disconnected')
    this.end(closeCodes.bye, 'closed')
    this.#changed()
  }

  /**
   * Nothing more is taken. Not left to the close of the channel, which may come late: by then a
   * newer connection may be there.
   */
  end(code: number, reason: string): void {
    if (!this.#isConnected) return
    this.#isConnected = false
    const { registry, schemes, channel } = this.#parts
    registry.scene.demand.supply(null)
    for (const stop of this.#stops) stop()
    schemes.disconnect()
    this.#uploads.close()
    this.#requests.disconnect()
    channel.close(code, reason)
  }

  /** Handles the message at once, and answers when that is done. Never rejects. */
  async #receive(frame: Frame): Promise<void> {
    const { channel, log, registry } = this.#parts
    const { type, id } = frame
    try {
      const message = parseLinkMessage(frame)
      if (message === null && id === undefined) return
      if (message === null) {
        throw new LinkRefusal('unknown_type', `there is no message "${type.slice(0, 64)}"`)
      }
      if (channel.isPage && refusedFromPages.has(type)) {
        throw new LinkRefusal('unsupported', 'a web page sends no audit records and no notes')
      }
      const done = this.#handle(message, frame)
      // A message that is handled at once is answered before the next one is read.
      const body = done instanceof Promise ? await done : done
      if (id !== undefined) channel.send({ type: 'ok', id, ...body })
      if (message.type === 'bye') this.#left(message)
    } catch (error) {
      if (type === 'scene.set' || type === 'scene.patch') registry.scene.markUnconfirmed()
      const refusal = refusalOf(error)
      if (refusal === null) log.error({ err: error, type }, 'a message of the application failed')
      const { code, message } =
        refusal ?? new LinkRefusal('internal', 'the server failed; its log has the reason')
      channel.send({ type: 'error', id, code, message })
    }
  }

  /** Returns the members of the answer. */
  #handle(message: Message, frame: Frame): object | Promise<object> {
    const { registry, buffers, schemes, audit, checkpoints, channel } = this.#parts
    switch (message.type) {
      case 'scene.set': {
        const text = message.scene === null ? null : frameScene(frame)
        return { revision: registry.scene.replaceText(text, this.instanceId) }
      }
      case 'scene.patch': {
        const { base = null } = message
        const patch = { ...message.patch, warnings: frame.warnings }
        return { revision: changeScene(() => registry.scene.patch(patch, base, this.instanceId)) }
      }
      case 'app.update':
        if (message.document !== undefined) this.#document = message.document
        if (message.mode !== undefined) this.#app = { ...this.#app, mode: message.mode }
        if (message.capture !== undefined) this.#pictures = message.capture
        this.#changed()
        return {}
      case 'heartbeat': {
        const isBusy = message.main_idle_ms > busyMs || message.busy !== undefined
        const isChange = isBusy !== this.#requests.isBusy
        this.#requests.isBusy = isBusy
        channel.allowSilence(message.silent_ms ?? 0)
        if (isChange) this.#changed()
        return {}
      }
      case 'audit.record':
        for (const record of message.records) audit.record(record)
        return { count: message.records.length }
      case 'events.open': {
        const { session_id, maxlen, max_message_bytes } = message
        this.#eventSessions.add(session_id)
        return { next_cursor: buffers.open(session_id, maxlen, max_message_bytes).newestCursor }
      }
      case 'events.append': {
        this.#eventSessions.add(message.session_id)
        const buffer = buffers.open(message.session_id)
        for (const event of message.events) buffer.append(event)
        return { next_cursor: buffer.newestCursor, dropped: buffer.droppedCount }
      }
      case 'producer.register':
        schemes.register(message.scheme, message.resources, message.templates, this.#requests)
        return {}
      case 'resource.updated':
        schemes.updated(message.uri)
        return {}
      case 'artefact.put':
        return this.#uploads.put(message)
      case 'checkpoint.add':
        return checkpoints
          .add(message)
          .then(({ name, as_of, connected }) => ({ checkpoint: { name, as_of, connected } }))
      case 'note.add':
        return this.#writeNote('notes', message.note, '/note')
      case 'note.act': {
        const { note, action, by, text } = message
        return this.#writeNote(`notes/${note}/${action}`, { by, text })
      }
      case 'bye':
        if (message.clear === true) this.#clear(message.reason)
        return {}
      case 'hello':
        throw new LinkRefusal('invalid', 'hello was said already')
    }
  }

  /** As the post to this address below `/host/v1/` does. */
  async #writeNote(address: string, body: unknown, at = ''): Promise<object> {
    const { notes } = this.#parts
    const post = notePost(address)
    if (post === null) throw invalidMember('/note', 'must name a note')
    const write = post(body, at)
    if (notes === null) throw new LinkRefusal('unsupported', 'notes are switched off')
    const { id, number, state } = await write(notes)
    return { note: { id, number, state } }
  }

  /** Nothing that it shared may stay, except artefacts and the audit. */
  #clear(reason: string | undefined): void {
    const { buffers, registry } = this.#parts
    for (const sessionId of this.#eventSessions) buffers.remove(sessionId)
    this.#eventSessions.clear()
    this.#document = null
    this.#cleared = cleanText(reason ?? '', 200)
    if (registry.scene.setBy === this.instanceId) registry.scene.clear(reason)
  }

  #left({ reason }: Message<'bye'>): void {
    this.#parts.log.info({ reason }, 'application said good-bye')
    this.end(closeCodes.bye, 'bye')
    this.#parts.schemes.forget()
    this.#changed()
  }

  /** Sends the notes of the open document, now and whenever they change. Returns the end. */
  #showNotes(): () => void {
    const { notes, log, channel } = this.#parts
    if (notes === null) return () => {}
    // One after the other: a slow read for the previous document must not end last.
    let showing = Promise.resolve()
    const show = () => {
      showing = showing.then(async () => {
        const shown = await notes.shown(maxNotesBytes).catch((error: unknown) => {
          log.warn({ reason: messageOf(error) }, 'the notes cannot be shown')
          // The application may still show those of another document.
          return { notes: [], pictures: '' }
        })
        channel.send({ type: 'notes', ...shown })
      })
    }
    show()
    return notes.watch(show)
  }

  /** Sends the clients that there are, now and whenever that changes. Returns the end. */
  #showClients(): () => void {
    const { clients, channel } = this.#parts
    const show = () => channel.send({ type: 'clients', clients: clients.rows() })
    show()
    return clients.watch(() => void show())
  }

  #changed(): void {
    const connected = this.#isConnected
    const app = this.#app
    const { dcc_type: dccType, version, mode } = app
    const { path, name, modified } = this.#document ?? {}
    this.#parts.registry.scene.setApplication({
      instanceId: this.instanceId,
      connected,
      dccType,
      facts: {
        dcc: { type: dccType, version, mode },
        document: this.#document && { path, name, modified },
      },
    })
    this.#parts.onPresence({
      connected,
      app,
      document: this.#document,
      busy: connected && this.#requests.isBusy,
      pictures: connected ? this.#pictures : noPictures,
      ...(this.#cleared !== undefined && { cleared: this.#cleared }),
    })
  }
}
