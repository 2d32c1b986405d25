import type { ServiceError } from '../../../lib/util/errors.ts'
import type { JsonObject } from '../../../lib/util/json.ts'
import type { Clock } from '../../../lib/util/time.ts'
import { ResourceNotFound, ResourceUriInvalid } from '../../resources/errors.ts'
import type { Reader, RelayedContents } from '../../resources/producer.ts'
import type { InstanceChange, InstanceDirectory } from '../instance-directory.ts'
import type { AccessTrail, Wanted } from './access-trail.ts'
import { EndedInstances } from './ended-instances.ts'
import type { Call } from './instance-calls.ts'
import { InstanceNames, unknownInstance } from './instance-names.ts'
import { canonicalOuter, drains, outerUri, parseInstanceUri } from './instance-uri.ts'
import { OpenRequests } from './open-requests.ts'
import { isUnreachable } from './relay-errors.ts'
import type { Follower, Relay, Relays } from './relays.ts'
import { assertCall, assertScheme, type Schemes } from './scheme-rights.ts'

/** Resources that instances have for themselves. */
export const ownSchemes: ReadonlySet<string> = new Set(['server', 'ui', 'instance'])

interface InstancesParts {
  readonly directory: InstanceDirectory
  readonly relays: Relays
  /** Whether the instance is in the directory now. Absent: none is ever hidden from callers. */
  readonly isVisible?: (instanceId: string) => boolean
  /** Shared with other views of the user. Absent: of no user. */
  readonly open?: OpenRequests
  /** Default: callers may read all. */
  readonly schemes?: Schemes
  /** Absent: nothing is written down. */
  readonly trail?: AccessTrail
  readonly clock: Clock
  /** `uri` as clients of the gateway know it, canonical. */
  readonly updated: (uri: string) => void
  readonly listChanged: () => void
}

/** A resource of an instance, found by its URI at the gateway. */
interface Found {
  readonly instanceId: string
  /** As the instance calls it. */
  readonly inner: string
}

/** The instances of one directory, whose resources the gateway passes on. */
export class Instances implements Follower {
  readonly #parts: InstancesParts
  readonly #ended: EndedInstances
  /** Instance id → what clients follow of it, as the instance calls it. */
  readonly #followed = new Map<string, Set<string>>()
  readonly #open: OpenRequests
  readonly names: InstanceNames
  readonly #stop: () => void

  constructor(parts: InstancesParts) {
    this.#parts = parts
    this.#open = parts.open ?? new OpenRequests()
    this.#ended = new EndedInstances(parts)
    this.names = new InstanceNames(parts.directory, this.#ended)
    this.#stop = parts.directory.onChange(changes => {
      for (const change of changes) this.#changed(change)
    })
  }

  /** Throws `ResourceNotFound` or `ResourceUriInvalid`, also for an unknown instance. */
  find(text: string): Found {
    const { selector, inner } = this.#parsed(text)
    return { instanceId: this.names.idOf(selector, text), inner }
  }

  #parsed(text: string) {
    const parsed = parseInstanceUri(text)
    if (parsed === null || ownSchemes.has(parsed.scheme)) {
      const error = new ResourceNotFound(text)
      error.message += '; the scene of an instance is instance://<id>/scene/current'
      throw error
    }
    assertScheme(this.#schemes, parsed.scheme)
    return parsed
  }

  /** Whether callers may read the scheme. */
  allows(scheme: string): boolean {
    return this.#schemes?.includes(scheme) ?? true
  }

  get #schemes(): Schemes {
    return this.#parts.schemes ?? null
  }

  /** The one spelling under which updates are announced; undefined: there is no such instance. */
  canonical(text: string): string | undefined {
    const parsed = parseInstanceUri(text)
    const [id, ...others] = parsed === null ? [] : this.names.idsOf(parsed.selector)
    if (parsed === null || id === undefined || others.length > 0) return undefined
    return canonicalOuter(id, parsed)
  }

  /** The contents as they come from the instance. */
  async relay(text: string, reader?: Reader): Promise<RelayedContents> {
    const { instanceId, inner } = this.find(text)
    if (drains(inner)) {
      throw new ResourceUriInvalid('a gateway never drains events: leave out drain')
    }
    const wanted = { instanceId, rpc: 'resources/read', uri: text }
    return this.asked(wanted, reader, ({ reads }, own) => reads.read(inner, text, own))
  }

  /** The result of a request to the instance. */
  call(instanceId: string, ...[method, params, caller]: Call): Promise<JsonObject> {
    assertCall(this.#schemes, method, params)
    const rpc = method === 'tools/call' ? `${method} ${String(params.name)}` : method
    const wanted = { instanceId, rpc, uri: `gateway://instances/${instanceId}` }
    const progress = caller?.progress
    return this.asked(wanted, caller, ({ calls }, reader) =>
      calls.ask(method, params, reader && { signal: reader.signal, progress }),
    )
  }

  /** `uri`: canonical, without its query. The promise is of the time when updates arrive. */
  follow(uri: string): Promise<void> {
    try {
      const { selector: instanceId, inner } = this.#parsed(uri)
      const followed = this.#followed.get(instanceId) ?? new Set()
      this.#followed.set(instanceId, followed.add(inner))
      // After a restart of the gateway an instance may come later than its readers.
      if (this.names.idsOf(instanceId).length === 0) return Promise.resolve()
      this.assertThere(instanceId, uri)
      const follow = () => this.#parts.relays.follow(this, instanceId, inner)
      const wanted = { instanceId, rpc: 'resources/subscribe', uri }
      return this.#parts.trail?.of(wanted, follow) ?? follow()
    } catch (error) {
      return Promise.reject(error)
    }
  }

  unfollow(uri: string): void {
    const parsed = parseInstanceUri(uri)
    if (parsed === null) return
    const { selector: id, inner } = parsed
    const followed = this.#followed.get(id)
    followed?.delete(inner)
    if (followed?.size === 0) this.#followed.delete(id)
    this.#parts.relays.unfollow(this, id, inner)
  }

  updated(instanceId: string, inner: string): void {
    if (this.#parts.isVisible?.(instanceId) !== false) this.#tell(instanceId, inner)
  }

  listChanged(): void {
    this.#parts.listChanged()
  }

  /** Throws for an instance that has ended; `uri`: what was asked for. */
  assertThere(instanceId: string, uri?: string): void {
    const error = this.#ended.errorOf(instanceId, uri)
    if (error !== null) throw error
  }

  /**
   * Asks the instance for a caller. One that is hidden meanwhile fails as an unknown one, and `reader`
   * leaves then.
   */
  asked<Answer>(
    wanted: Wanted,
    caller: Reader | undefined,
    ask: (relay: Relay, reader: Reader | undefined) => Promise<Answer>,
  ): Promise<Answer> {
    const asked = () => this.#ask(wanted, caller, ask)
    return this.#parts.trail?.of(wanted, asked) ?? asked()
  }

  async #ask<Answer>(
    { instanceId, uri: text }: Wanted,
    caller: Reader | undefined,
    ask: (relay: Relay, reader: Reader | undefined) => Promise<Answer>,
  ): Promise<Answer> {
    this.assertThere(instanceId, text)
    const relay = this.#parts.relays.to(instanceId)
    const isShown = () => {
      if (this.#isHidden(instanceId)) throw unknownInstance(text)
    }
    try {
      if (this.#parts.isVisible === undefined) return await ask(relay, caller)
      return await this.#open.run(instanceId, caller, async reader => {
        const answer = await ask(relay, reader)
        isShown()
        return answer
      })
    } catch (error) {
      isShown()
      if (!isUnreachable(error)) throw error
      throw (await this.#goneNow(instanceId, text)) ?? error
    }
  }

  close(): void {
    this.#stop()
    for (const [id, followed] of this.#followed) {
      for (const inner of followed) this.#parts.relays.unfollow(this, id, inner)
    }
  }

  /** After a failure: the error of an instance that has ended meanwhile. */
  async #goneNow(instanceId: string, uri: string): Promise<ServiceError | null> {
    await this.#parts.directory.refresh()
    return this.#ended.errorOf(instanceId, uri)
  }

  #isHidden(instanceId: string): boolean {
    return this.#parts.isVisible?.(instanceId) === false && !this.#ended.has(instanceId)
  }

  #changed(change: InstanceChange): void {
    if (!('entry' in change)) return
    const { instanceId } = change.entry.record
    const followed = this.#followed.get(instanceId) ?? []
    if (change.kind === 'gone') {
      if (change.isHidden !== true) this.#ended.remember(change.entry)
      else this.#open.end(instanceId)
      // It may come back for others alone; one that is visible again is followed again.
      if (this.#parts.isVisible !== undefined) {
        for (const inner of followed) this.#parts.relays.unfollow(this, instanceId, inner)
      }
    } else if (change.kind === 'appeared') {
      this.#ended.forget(instanceId)
      for (const inner of followed) {
        const followedAgain = this.#parts.relays.follow(this, instanceId, inner)
        // What changed before was not told.
        void followedAgain.catch(() => {}).then(() => this.updated(instanceId, inner))
      }
      return
    } else if (!this.#ended.forget(instanceId)) return
    // They read, and learn what became of the instance.
    for (const inner of followed) this.#tell(instanceId, inner)
  }

  #tell(instanceId: string, inner: string): void {
    this.#parts.updated(outerUri(instanceId, inner) ?? inner)
  }
}
