import type { ResourceLimits } from './limits.ts'
import { maxJsonDepth } from '../../lib/util/json.ts'
import { type Clock, systemTimer, type Timer } from '../../lib/util/time.ts'
import { ServiceError } from '../../lib/util/errors.ts'
import { type Logger, silentLogger } from '../../lib/util/logger.ts'
import { AuditProducer, auditRecentUri } from './audit.ts'
import { AuditLog } from './audit-log.ts'
import { CaptureProducer } from './capture.ts'
import { type CaptureSource, noCapture } from './capture-source.ts'
import type { CheckpointSource } from './checkpoint-source.ts'
import { ClientsProducer, type ClientsSource, clientsUri } from './clients.ts'
import { CustomProducer } from './custom-producer.ts'
import { scenePatch, type ScenePatchInput } from '../../lib/host-link/scene-patch.ts'
import { LiveAppProducer } from './live-app.ts'
import { ResourceServer } from './resource-server.ts'
import type { PagedProducer, ResourceProducer } from './producer.ts'
import { isScheme, normaliseUri } from './resource-uri.ts'
import type { NotesSource } from './notes-source.ts'
import { SceneProducer } from './scene/producer.ts'
import { checkpointsUri, sceneCurrentUri, sceneDeltaUri } from './scene/listing.ts'
import { type FreshScene, SceneState } from './scene/state.ts'
import {
  type Attachment,
  isReservedScheme,
  type SchemeSource,
  type SchemeState,
} from './schemes.ts'
import { SessionEventBuffer } from './session-event-buffer.ts'
import { SessionEventsProducer } from './session-events.ts'

interface ResourceRegistryOptions {
  limits: ResourceLimits
  clock?: Clock
  log?: Logger
  timer?: Timer
  artefacts?: PagedProducer
  enableArtefactResources: boolean
  /** Default: no window. */
  capture?: CaptureSource
  /** Default: there are none, and `notes://` does not exist. */
  notes?: NotesSource
  /** Default: there are none, nor `scene://checkpoints`. */
  checkpoints?: CheckpointSource
  /** Default: `server://clients` does not exist. */
  clients?: ClientsSource
  /** Serve `ui://service-cli/live`. Default false. */
  liveApp?: boolean
}

/**
 * All resources of one server. The host puts state in (`setScene`, `wireAuditLog`, …), the
 * endpoint takes pages and contents out and passes changes on.
 */
export class ResourceRegistry extends ResourceServer {
  readonly #limits: ResourceLimits
  readonly #log: Logger
  readonly #timer: Timer
  readonly #scene: SceneState
  readonly #audit: AuditProducer
  readonly #events: SessionEventsProducer
  readonly #notes: NotesSource | undefined
  #frozen = false

  constructor(options: ResourceRegistryOptions) {
    const { limits, clock, log = silentLogger, timer = systemTimer, capture = noCapture } = options
    const sceneChanges = {
      sceneSet: () => {
        this.notify.resourceUpdated(sceneCurrentUri)
        this.notify.resourceUpdated(sceneDeltaUri)
      },
      applicationChanged: () => this.notify.resourceUpdated(sceneCurrentUri),
    }
    const scene = new SceneState(limits, { listener: sceneChanges, clock })
    const audit = new AuditProducer()
    const events = new SessionEventsProducer()
    const { notes, checkpoints, clients, liveApp = false } = options
    const producer = new SceneProducer(scene, limits, checkpoints)
    super({
      builtIns: {
        scene: producer,
        ...(notes && { notes: notes.producer(() => producer.now) }),
        audit,
        events,
        capture: new CaptureProducer(capture),
        ...(clients && { server: new ClientsProducer(clients) }),
        ...(liveApp && { ui: new LiveAppProducer() }),
      },
      artefacts: options.enableArtefactResources ? options.artefacts : undefined,
      disabled: { artefact: 'the server runs with artefacts switched off' },
      whereToLook,
      limits,
      clock,
      log,
      timer,
    })
    this.#limits = limits
    this.#log = log
    this.#timer = timer
    this.#scene = scene
    this.#audit = audit
    this.#events = events
    this.#notes = notes
    notes?.onChange(uri => this.notify.resourceUpdated(uri))
    checkpoints?.onChange(() => this.notify.resourceUpdated(checkpointsUri))
    clients?.onChange(() => this.notify.resourceUpdated(clientsUri))
    this.onClose(() => notes?.close())
    this.onClose(() => clients?.close())
    const captureChanged = () => {
      this.routes.templatesChanged()
      this.notify.listChanged()
    }
    this.onClose(capture.onChange(captureChanged))
  }

  /**
   * Replaces the scene snapshot, null clears it; tells every subscriber, also when nothing
   * changed. Returns the revision. Throws `TypeError`, and the old scene stays, for anything
   * that is not a JSON object, refers to itself, holds NaN or Infinity, is too deep or too large.
   */
  setScene(scene: object | null): number {
    return this.#scene.set(scene)
  }

  /**
   * The same for JSON text, which is checked and kept as it is; `null` as text clears. `setBy`:
   * instance id of the application on the host link that sent it.
   */
  setSceneText(json: string, setBy: string | null = null): number {
    return this.#scene.setText(json, setBy)
  }

  /**
   * Changes the scene: `objects` (each with a text `id`) replace those with their id or are added,
   * `removed` are ids, `members` other members of the scene, `unset` names of members. Returns the
   * revision. Throws `TypeError` for another form, and for a scene whose objects have no ids;
   * `scene_stale` without a scene; `limit_reached`. Then the old scene stays.
   */
  patchScene(patch: ScenePatchInput): number {
    return this.#scene.patch(scenePatch(patch, maxJsonDepth), null)
  }

  followed(uri: string, isFollowed: boolean): void {
    const scheme = uri.slice(0, uri.indexOf(':'))
    if (scheme === 'notes') return this.#notes?.follow(uri, isFollowed)
    if (scheme === 'scene' || !isReservedScheme(scheme)) this.#scene.demand.follow(uri, isFollowed)
  }

  /** The scene, after the application was asked for what it has not sent yet. */
  freshScene(): Promise<FreshScene> {
    return this.#scene.fresh()
  }

  /** The scene as the host link asks for it: whose it is, and who is connected. */
  get scene(): SceneState {
    return this.#scene
  }

  /**
   * Offers the log as `audit://recent` and tells subscribers of every record. Once, before start;
   * else it throws `usage_invalid`, and `TypeError` for what is no `AuditLog`.
   */
  wireAuditLog(log: AuditLog): void {
    this.#beforeStart('wireAuditLog')
    if (!(log instanceof AuditLog)) throw new TypeError('wireAuditLog takes an AuditLog')
    if (this.#audit.log !== undefined) throw misuse('an audit log is wired already')
    this.#audit.wire(log)
    this.onClose(log.onRecord(() => this.notify.resourceUpdated(auditRecentUri)))
  }

  /** The wired audit log: where the server records what it refused. */
  get auditLog(): AuditLog | undefined {
    return this.#audit.log
  }

  /** Offers the buffer as `events://session/<id>`, also after start. Throws for a taken id. */
  registerSessionEventBuffer(buffer: SessionEventBuffer): void {
    if (!(buffer instanceof SessionEventBuffer)) {
      throw new TypeError('registerSessionEventBuffer takes a SessionEventBuffer')
    }
    this.#events.register(buffer)
    this.notify.listChanged()
  }

  /** The buffer is listed and read no more; one that is not registered changes nothing. */
  removeSessionEventBuffer(buffer: SessionEventBuffer): void {
    if (this.#events.remove(buffer)) this.notify.listChanged()
  }

  /**
   * Serves a scheme of the host's own. Throws `usage_invalid` after start and for a taken or
   * built-in scheme, `TypeError` for a producer or scheme out of its form.
   */
  addProducer(producer: ResourceProducer): void {
    this.#beforeStart('addProducer')
    if (typeof producer?.list !== 'function' || typeof producer.read !== 'function') {
      throw new TypeError('a producer needs scheme, list and read')
    }
    const { limits, log, timer } = { limits: this.#limits, log: this.#log, timer: this.#timer }
    const custom = new CustomProducer(producer, { limits, log, timer })
    this.#assertFree(custom.scheme)
    this.routes.add(custom)
    this.notify.listChanged()
  }

  /**
   * Serves a scheme from now on, also after start: for the product's own sources, no part of the
   * library's face. Throws as `addProducer` does; ask `schemeState` first to tell why.
   */
  attach(source: SchemeSource): Attachment {
    this.#assertFree(source.scheme)
    this.routes.attach(source)
    this.notify.listChanged()
    this.notify.schemeUpdated(source.scheme)
    let attached = true
    return {
      listChanged: () => {
        if (!attached) return
        this.routes.templatesChanged()
        this.notify.listChanged()
      },
      updated: () => {
        if (attached) this.notify.schemeUpdated(source.scheme)
      },
      detach: () => {
        if (!attached) return
        attached = false
        this.routes.detach(source)
        this.notify.listChanged()
        this.notify.schemeUpdated(source.scheme)
      },
    }
  }

  /** Whether a source may take the scheme. Reserved ones are the product's built-in resources. */
  schemeState(scheme: string): SchemeState {
    if (isReservedScheme(scheme)) return 'reserved'
    return this.routes.serves(scheme) ? 'taken' : 'free'
  }

  /**
   * Notifies subscribers that a resource of a custom or attached scheme changed. Throws
   * `usage_invalid` for any other scheme, `ResourceUriInvalid` for an invalid URI.
   */
  notifyUpdated(uri: string): void {
    const { scheme } = this.parsed(uri)
    if (isReservedScheme(scheme)) throw misuse(`updates of ${scheme}:// are the server's own`)
    if (!this.routes.serves(scheme)) throw misuse(`no producer serves ${scheme}://`)
    this.notify.resourceUpdated(normaliseUri(uri))
  }

  /** The server starts: wiring ends here. */
  freeze(): void {
    this.#frozen = true
  }

  /** Artefacts appeared or went. */
  artefactsChanged(): void {
    if (this.routes.artefacts !== undefined) this.notify.listChanged()
  }

  #assertFree(scheme: string): void {
    if (!isScheme(scheme)) {
      throw new TypeError(
        'a producer scheme is a lower-case letter, then letters, digits, "+", "-" or "."',
      )
    }
    if (this.schemeState(scheme) !== 'free') throw misuse(`the scheme "${scheme}" is taken`)
  }

  #beforeStart(call: string): void {
    if (this.#frozen) throw misuse(`${call} is possible only before the server starts`)
  }
}

function misuse(message: string): ServiceError {
  return new ServiceError('usage_invalid', message)
}

function whereToLook(scheme: string): string {
  switch (scheme) {
    case 'gateway':
    case 'resources':
      return 'this is the server of one application: gateway:// is served by service-cli gateway'
    case 'scene':
      return 'read scene://current or scene://delta'
    case 'audit':
      return 'read audit://recent'
    default:
      return 'list the resources and the URI templates to see what there is'
  }
}
