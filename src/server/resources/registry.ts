import type { Named } from '../../lib/instances/select-instance.ts'
import { orThrow } from '../../lib/host-link/check.ts'
import type { Limits } from '../../lib/config/limits.ts'
import type { Logger } from '../../lib/util/logger.ts'
import type { Clock, Timer } from '../../lib/util/time.ts'
import { ServiceError } from '../../lib/util/errors.ts'
import { auditProducer, auditRecentUri } from './audit.ts'
import type { AuditLog } from './audit-log.ts'
import { captureProducer, type CaptureSource } from './capture.ts'
import { clientsProducer, type ClientsSource, clientsUri } from './clients.ts'
import { CustomProducer } from './custom-producer.ts'
import { scenePatch, type ScenePatchInput } from '../../lib/host-link/scene-patch.ts'
import { ResourceNotEnabled } from './errors.ts'
import { liveAppProducer } from './live-app.ts'
import type { ResourceProducer } from './producer.ts'
import { isScheme, normaliseUri, type ResourceUri } from './resource-uri.ts'
import { isOfApplication } from './object-detail.ts'
import { type CheckpointSource, type SceneNow, SceneProducer } from './scene/producer.ts'
import { checkpointsUri, sceneCurrentUri, sceneDeltaUri } from './scene/listing.ts'
import { type SceneLimits, SceneState } from './scene/state.ts'
import type { SchemeProducer } from './scheme-producer.ts'
import { reservedSchemes } from './schemes.ts'
import { ServedResources } from './served-resources.ts'
import type { SessionEventBuffer } from './session-event-buffer.ts'
import { SessionEventsProducer } from './session-events.ts'

/** The notes of the open document, which the folder of notes implements. */
interface NotesSource {
  producer(scene: () => SceneNow): SchemeProducer
  /** Sets the listener of changes. */
  onChange(listener: (uri: string) => void): void
  close(): void
}

interface ResourceRegistryOptions {
  limits: SceneLimits & Pick<Limits, 'pageSize'>
  clock?: Clock
  log?: Logger
  timer?: Timer
  /** Default: there are none, and `notes://` does not exist. */
  notes?: NotesSource
  /** Default: there are none, nor `scene://checkpoints`. */
  checkpoints?: CheckpointSource
  /** Default: `server://clients` does not exist. */
  clients?: ClientsSource
  /** Default: artefacts are switched off. */
  artefacts?: SchemeProducer
  /** The instance whose resources these are. Default: none, no URI names it. */
  instance?: () => Named
  /** Default: no window. */
  capture?: CaptureSource
  /** Serve `ui://service-cli/live`. Default false. */
  liveApp?: boolean
}

const notFoundHint = 'list the resources and the URI templates to see what there is'

/**
 * The resources of an application. The host puts state in (`setScene`, `wireAuditLog`, …), the
 * endpoint takes pages and contents out and passes changes on.
 */
export class ResourceRegistry extends ServedResources {
  declare readonly scene: SceneState
  readonly #audit: { log?: AuditLog }
  readonly #events: SessionEventsProducer

  constructor(options: ResourceRegistryOptions) {
    const { limits, clock, capture } = options
    const { notes, checkpoints, clients, liveApp = false } = options
    const sceneChanged = (what: 'scene' | 'application') => {
      this.updated(sceneCurrentUri)
      if (what === 'scene') this.updated(sceneDeltaUri)
    }
    const state = new SceneState(limits, sceneChanged, clock)
    const scene = new SceneProducer(state, checkpoints)
    const audit: { log?: AuditLog } = {}
    const events = new SessionEventsProducer()
    const producers = {
      scene,
      ...(notes && { notes: notes.producer(() => scene.now) }),
      audit: auditProducer(audit),
      events,
      capture: captureProducer(capture),
      ...(clients && { server: clientsProducer(clients) }),
      ...(liveApp && { ui: liveAppProducer() }),
      artefact: options.artefacts ?? artefactsOff,
    }
    super({ ...options, scene: state, producers, notFoundHint })
    this.#audit = audit
    this.#events = events
    notes?.onChange(uri => this.updated(uri))
    checkpoints?.onChange(() => this.updated(checkpointsUri))
    clients?.watch(() => this.updated(clientsUri))
    this.onClose(() => notes?.close())
    this.onClose(() => clients?.close())
    if (capture) this.onClose(capture.onChange(() => this.listChanged()))
  }

  /**
   * Replaces the scene snapshot, null clears it; tells every subscriber, also when nothing
   * changed. Returns the revision. Throws `TypeError`, and the old scene stays, for anything
   * that is not a JSON object, refers to itself, is too deep or too large. NaN and infinities become
   * null, which a member `warnings` of the scene says.
   */
  setScene(scene: object | null): number {
    return this.scene.set(scene)
  }

  /**
   * Changes the scene: `objects` (each with a text `id`) replace those with their id or are added,
   * `removed` are ids, `members` other members of the scene, `unset` names of members. Returns the
   * revision. Throws `TypeError` for another form, and for a scene whose objects have no ids;
   * `scene_stale` without a scene; `limit_reached`. Then the old scene stays.
   */
  patchScene(patch: ScenePatchInput): number {
    try {
      return this.scene.patch(orThrow(scenePatch, patch), null)
    } catch (error) {
      const isOfForm = error instanceof ServiceError && error.code === 'body_invalid'
      throw isOfForm ? new TypeError(error.message) : error
    }
  }

  /** The application is told whether its scene, or a resource of its own, is followed. */
  override followed(uri: string, isFollowed: boolean): Promise<void> | void {
    const isShown = uri.startsWith('scene:') || isOfApplication(uri)
    if (isShown) this.scene.demand.follow(uri, isFollowed)
    return super.followed(uri, isFollowed)
  }

  /**
   * Offers the log as `audit://recent` and tells subscribers of every record. Throws
   * `usage_invalid` when there is one already.
   */
  wireAuditLog(log: AuditLog): void {
    if (this.#audit.log !== undefined) throw misuse('an audit log is wired already')
    this.#audit.log = log
    this.onClose(log.onRecord(() => this.updated(auditRecentUri)))
  }

  /** The wired audit log: where the server records what it refused. */
  get auditLog(): AuditLog | undefined {
    return this.#audit.log
  }

  /** Offers the buffer as `events://session/<id>`. Throws for a taken id. */
  registerSessionEventBuffer(buffer: SessionEventBuffer): void {
    this.#events.register(buffer)
    this.listChanged()
  }

  /** The buffer is listed and read no more; one that is not registered changes nothing. */
  removeSessionEventBuffer(buffer: SessionEventBuffer): void {
    if (this.#events.remove(buffer)) this.listChanged()
  }

  /**
   * Serves a scheme of the host's own. Throws `usage_invalid` for a taken or built-in scheme,
   * `TypeError` for a scheme out of its form.
   */
  addProducer(producer: ResourceProducer): void {
    this.attach(producer.scheme, new CustomProducer(producer, { log: this.log, timer: this.timer }))
  }

  /**
   * Serves a scheme from now on: for the product's own sources, no part of the library's face.
   * Throws as `addProducer` does; ask `isFree` first.
   */
  attach(scheme: string, producer: SchemeProducer): void {
    if (!isScheme(scheme)) {
      throw new TypeError(
        'a producer scheme is a lower-case letter, then letters, digits, "+", "-" or "."',
      )
    }
    if (!this.isFree(scheme)) throw misuse(`the scheme "${scheme}" is taken`)
    this.producers.set(scheme, producer)
    this.listChanged()
    this.schemeUpdated(scheme)
  }

  detach(scheme: string): void {
    if (!this.producers.delete(scheme)) return
    this.listChanged()
    this.schemeUpdated(scheme)
  }

  /** Whether a source may take the scheme. Reserved ones are the product's built-in resources. */
  isFree(scheme: string): boolean {
    return !reservedSchemes.has(scheme) && !this.producers.has(scheme)
  }

  /**
   * Notifies subscribers that a resource of a custom or attached scheme changed. Throws
   * `usage_invalid` for any other scheme, `ResourceUriInvalid` for an invalid URI.
   */
  notifyUpdated(uri: string): void {
    const { scheme, text } = this.parsed(uri)
    if (reservedSchemes.has(scheme) || !this.producers.has(scheme)) {
      throw misuse(`no producer of the host serves ${scheme}://`)
    }
    this.updated(normaliseUri(text))
  }
}

const refuseArtefact = ({ text }: ResourceUri): never => {
  throw new ResourceNotEnabled(text, 'the server runs with artefacts switched off')
}
/** The scheme is known, and none of its resources is served. */
const artefactsOff: SchemeProducer = { checkParameters: refuseArtefact, read: refuseArtefact }

function misuse(message: string): ServiceError {
  return new ServiceError('usage_invalid', message)
}
