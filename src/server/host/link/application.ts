import { closeCodes, type Heartbeat, type PictureTarget } from '../../../lib/host-link/wire.ts'
import { messageOf } from '../../../lib/util/errors.ts'
import { fail, type Result } from '../../../lib/util/result.ts'
import { type AppCaptureForm, type AppPicture, noShots } from '../../capture/host-backend.ts'
import type { CaptureFailure } from '../../capture/backend.ts'
import type { DocumentFacts } from '../app-facts.ts'
import { AppRequests } from './app-requests.ts'
import { AppSession, type SideMessage } from './app-session.ts'
import type { Channel } from './channel.ts'
import type { LinkDeps } from './link-deps.ts'
import { LinkedProducers, type Told } from './linked-producers.ts'
import type { AppFacts, HelloFacts } from './parse-hello.ts'
import { noPictures, pictureFailure, type PictureOfferFacts } from './pictures.ts'
import type { Presence } from './presence.ts'

/** The application is told to send a heartbeat this often. */
export const linkHeartbeatMs = 5000

/** The main thread of the application counts as busy when it is away for longer. */
export const linkBusyMs = 2000

/** Bytes of the notes that are sent to the application; clients of the link take 8 MiB. */
const maxNotesBytes = 4 * 1024 * 1024

/** Told of every change of what is known of an application. */
export interface ApplicationListener {
  presence(presence: Presence, from: Application): void
  /** The user disconnected it: its scene must not stay. */
  cleared(from: Application, reason: string | undefined): void
}

interface Connection {
  readonly channel: Channel
  readonly requests: AppRequests
  readonly session: AppSession
}

/**
 * One run of an application: what it said of itself, the schemes it offers, and its connection,
 * which may be lost and come back.
 */
export class Application {
  readonly instanceId: string
  readonly #deps: LinkDeps
  readonly #listener: ApplicationListener
  readonly #producers: LinkedProducers
  #connection: Connection | null = null
  #app: AppFacts | null = null
  #document: DocumentFacts | null = null
  #hasCleared = false
  #stopNotes: (() => void) | null = null
  #stopClients: (() => void) | null = null
  #pictures: PictureOfferFacts = noPictures
  #heartbeat: SeenHeartbeat | null = null

  constructor(instanceId: string, deps: LinkDeps, listener: ApplicationListener) {
    this.instanceId = instanceId
    this.#deps = deps
    this.#listener = listener
    const { registry, timer, limits, log } = deps
    this.#producers = new LinkedProducers({ registry, timer, limits, log })
  }

  get isConnected(): boolean {
    return this.#connection !== null
  }

  /** For people: `blender 3.4.1, process 4711`. */
  describe(): string {
    const { dccType = 'an application', version, pid } = this.#app ?? {}
    const named = version === undefined ? dccType : `${dccType} ${version}`
    return pid === undefined ? named : `${named}, process ${pid}`
  }

  /** What pictures of itself it offers now. */
  get pictures(): PictureOfferFacts {
    return this.#pictures
  }

  /** Asks it for one. Never rejects. */
  async capture(form: AppCaptureForm): Promise<Result<AppPicture, CaptureFailure>> {
    if (this.#connection === null) return fail(pictureFailure('host_disconnected'))
    if (this.#pictures.denied) return fail(pictureFailure('permission'))
    if (form.shot !== undefined && !this.#pictures.shots) return fail(noShots)
    if (this.#pictures.targets.includes(form.view)) return this.#connection.requests.capture(form)
    const message = `the application takes no picture of its ${form.view}`
    return fail({ reason: 'failed', message })
  }

  /** A picture of it was taken, by itself or from outside. */
  captured(target: PictureTarget): void {
    this.#connection?.channel.send({ type: 'captured', target })
  }

  /** Its hello arrived. A connection that it still has is of no use any more. */
  connect(channel: Channel, hello: HelloFacts): void {
    const { limits, timer, log, ticks } = this.#deps
    this.#release(closeCodes.replaced, 'a newer link of the same instance has its place')
    this.#app = hello.app
    this.#document = hello.document
    this.#hasCleared = false
    this.#pictures = hello.capture
    this.#heartbeat = null
    const requests = new AppRequests({
      send: message => channel.send(message),
      lateReason: () => lateReason(this.#heartbeat, ticks.now()),
      timer,
      limits,
      log,
    })
    const session = new AppSession(
      { ...this.#deps, channel, instanceId: this.instanceId },
      {
        told: message => this.#told(message),
        answered: (reply, png) => requests.settle(reply, png),
        left: (reason, clear) => this.#left(reason, clear),
        ended: code => this.#ended(channel, code),
      },
    )
    this.#connection = { channel, requests, session }
    // The scene may have changed while the application was away.
    this.#deps.sink.scene.markUnconfirmed()
    if (hello.refreshes) {
      this.#deps.sink.scene.demand.supply({
        refresh: () => (this.#isBusy() ? Promise.resolve(false) : requests.refresh()),
        demand: scene => void channel.send({ type: 'demand', scene }),
      })
    }
    if (hello.showsNotes && !channel.fromPage) {
      this.#stopNotes = this.#showNotes(channel)
      this.#stopClients = this.#showClients(channel)
    }
    channel.handTo(session)
    this.#producers.connected(requests)
    const { dccType: dcc_type, version, mode, pid } = hello.app
    log.info({ dcc_type, version, mode, pid }, 'application connected')
    this.#changed()
  }

  /** It does not come back: another one has its place, or the server stops. */
  forget(): void {
    this.#release(closeCodes.replaced, 'another application has its place')
    this.#producers.forget()
  }

  #told(message: SideMessage): object {
    switch (message.type) {
      case 'heartbeat': {
        const { mainIdleMs: main_idle_ms, busy = '' } = message
        const wasBusy = this.#isBusy()
        this.#heartbeat = { atMs: this.#deps.ticks.now(), heartbeat: { main_idle_ms, busy } }
        if (this.#isBusy() !== wasBusy) this.#changed()
        return {}
      }
      case 'app.update':
        if (message.document !== undefined) this.#document = message.document
        if (message.mode !== undefined && this.#app !== null) {
          this.#app = { ...this.#app, mode: message.mode }
        }
        if (message.capture !== undefined) this.#pictures = message.capture
        this.#changed()
        return {}
      case 'producer.register':
        return taken(this.#producers.register(message.scheme, message.resources, message.templates))
      case 'producer.unregister':
        return taken(this.#producers.unregister(message.scheme))
      case 'producer.list_changed':
        return taken(this.#producers.listChanged(message.scheme, message.resources))
      case 'resource.updated':
        return taken(this.#producers.updated(message.uri))
    }
  }

  #left(reason: string | undefined, clear: boolean): void {
    this.#deps.log.info({ reason }, 'application said good-bye')
    if (clear) {
      this.#document = null
      this.#hasCleared = true
      this.#listener.cleared(this, reason)
    }
    this.#release(closeCodes.bye, 'bye')
    this.#producers.forget()
    this.#changed()
  }

  #ended(channel: Channel, code: number): void {
    if (this.#connection?.channel !== channel) return
    this.#deps.log.warn({ close_code: code }, 'application disconnected')
    this.#release(closeCodes.bye, 'closed')
    this.#changed()
  }

  #release(code: number, reason: string): void {
    const connection = this.#connection
    if (connection === null) return
    this.#connection = null
    this.#deps.sink.scene.demand.supply(null)
    this.#stopNotes?.()
    this.#stopNotes = null
    this.#stopClients?.()
    this.#stopClients = null
    this.#producers.disconnected()
    connection.session.end()
    connection.requests.disconnect()
    connection.channel.close(code, reason)
  }

  /** Tells it of the notes of its document, now and whenever they change. Returns the end. */
  #showNotes(channel: Channel): (() => void) | null {
    const { sink, log } = this.#deps
    const { notes } = sink
    if (notes === null) return null
    let reads = 0
    let sent = 0
    const show = () => {
      const read = ++reads
      const send = (shown: object) => {
        // A slow read for the previous document may end last.
        if (read < sent) return
        sent = read
        channel.send({ type: 'notes', ...shown })
      }
      notes.shown(maxNotesBytes).then(send, (error: unknown) => {
        log.warn({ reason: messageOf(error) }, 'the notes cannot be shown')
        // The application may still show those of another document.
        send({ notes: [], pictures: '' })
      })
    }
    show()
    return notes.watch(show)
  }

  /** Tells it which clients there are, now and whenever that changes. Returns the end. */
  #showClients(channel: Channel): () => void {
    const { clients } = this.#deps.sink
    const show = () => channel.send({ type: 'clients', clients: clients.rows() })
    show()
    return clients.watch(show)
  }

  #isBusy(): boolean {
    return this.#heartbeat !== null && isMainBusy(this.#heartbeat.heartbeat)
  }

  #changed(): void {
    const connected = this.isConnected
    const busy = connected && this.#isBusy()
    const pictures = connected ? this.#pictures : noPictures
    const cleared = this.#hasCleared
    const presence = { connected, app: this.#app, document: this.#document, busy, pictures }
    this.#listener.presence(cleared ? { ...presence, cleared } : presence, this)
  }
}

/** The members of the answer, of which there are none. */
function taken(told: Told): object {
  if (told.ok) return {}
  throw told.failure
}

/** The newest heartbeat of a link, with the time of its arrival on a clock that is never set. */
interface SeenHeartbeat {
  readonly atMs: number
  readonly heartbeat: Pick<Heartbeat, 'main_idle_ms' | 'busy'>
}

/** Whether the main thread of the application said that it is at work elsewhere. */
function isMainBusy({ main_idle_ms, busy }: SeenHeartbeat['heartbeat']): boolean {
  return main_idle_ms > linkBusyMs || (busy ?? '') !== ''
}

/**
 * Why a question ran out of time. The time since the heartbeat is not added to what it says: it
 * has passed for an application that looks at the link all the time, too.
 */
export function lateReason(
  seen: SeenHeartbeat | null,
  nowMs: number,
): 'host_busy' | 'host_timeout' {
  if (seen === null || nowMs - seen.atMs >= 2 * linkHeartbeatMs) return 'host_timeout'
  return isMainBusy(seen.heartbeat) ? 'host_busy' : 'host_timeout'
}
