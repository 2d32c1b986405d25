import type { GatewayLimits } from '../../../lib/config/gateway-limits.ts'
import {
  minPrefixChars,
  plainId,
  selectInstance,
  shortIds,
} from '../../../lib/instances/select-instance.ts'
import { ServiceError } from '../../../lib/util/errors.ts'
import type { JsonObject } from '../../../lib/util/json.ts'
import type { Logger } from '../../../lib/util/logger.ts'
import { cleanText } from '../../../lib/util/text.ts'
import type { Clock, Timer } from '../../../lib/util/time.ts'
import { ResourceNotFound, ResourceUriInvalid } from '../../resources/errors.ts'
import type { MaybePromise } from '../../resources/maybe-promise.ts'
import type { Reader, RelayedContents } from '../../resources/producer.ts'
import type { InstanceDirectory, InstanceEntry } from '../instance-directory.ts'
import { idPrefix } from '../instance-query.ts'
import { probeUrl } from '../probes.ts'
import { EndedInstances, labelOf } from './ended-instances.ts'
import { type Call, InstanceCalls } from './instance-calls.ts'
import { InstancePushes } from './instance-pushes.ts'
import { InstanceReads } from './instance-reads.ts'
import { canonicalOuter, drains, outerUri, parseInstanceUri } from './instance-uri.ts'
import { isUnreachable, unreachable } from './relay-errors.ts'
import { Upstream } from './upstream.ts'

/** Resources that instances have for themselves. */
export const ownSchemes: ReadonlySet<string> = new Set(['server', 'ui', 'instance'])

interface InstancesParts {
  readonly directory: InstanceDirectory
  readonly hostname: string
  /** `<registry_dir>/instances` */
  readonly instancesDir: string
  /** Is this the address of the gateway itself? */
  readonly isOwn: (url: URL) => boolean
  readonly mayUseKey: () => MaybePromise<boolean>
  readonly clock: Clock
  readonly timer: Timer
  readonly limits: Pick<GatewayLimits, 'instanceAnswerMs' | 'instanceSilenceMs'>
  readonly log: Logger
  /** `uri` as clients of the gateway know it, canonical. */
  readonly updated: (uri: string) => void
  readonly listChanged: () => void
}

/** Instances that an error names, for a caller to choose from. */
const maxCandidates = 20
/** Of a caller, in an error. */
const maxWordChars = 100

/** The gateway's way to one instance. */
interface Relay {
  readonly upstream: Upstream
  readonly reads: InstanceReads
  readonly pushes: InstancePushes
  readonly calls: InstanceCalls
}

/** A resource of an instance, found by its URI at the gateway. */
interface Found {
  readonly instanceId: string
  /** As the instance calls it. */
  readonly inner: string
}

/** Selector → id, of those that name one instance alone; id → address. */
interface Known {
  readonly entries: readonly InstanceEntry[]
  readonly ids: Map<string, string>
  readonly urls: Map<string, URL>
}

/** Spellings of ids that are kept. */
const maxKnownIds = 1000

/** The instances whose resources the gateway passes on. */
export class Instances {
  readonly #parts: InstancesParts
  readonly #ended: EndedInstances
  readonly #relays = new Map<string, Relay>()
  /** What reads ask again and again, for as long as the directory has these entries. */
  #known: Known = { entries: [], ids: new Map(), urls: new Map() }
  readonly #stop: () => void

  constructor(parts: InstancesParts) {
    this.#parts = parts
    this.#ended = new EndedInstances(parts)
    this.#stop = parts.directory.onChange(changes => {
      for (const change of changes) {
        if (!('entry' in change)) continue
        const { instanceId } = change.entry.record
        if (change.kind === 'gone') {
          this.#ended.remember(change.entry)
          this.#notifySubscribers(instanceId)
          this.#free(instanceId)
          continue
        }
        if (this.#ended.forget(instanceId)) this.#notifySubscribers(instanceId)
        if (change.entry.verdict.health === 'dead') continue
        this.#relays.get(instanceId)?.pushes.resume()
      }
    })
  }

  /** Those that run, in their order. */
  get live(): readonly InstanceEntry[] {
    return this.#parts.directory.entries.filter(({ verdict }) => verdict.health !== 'dead')
  }

  /** Throws `ResourceNotFound` or `ResourceUriInvalid`, also for an unknown instance. */
  find(text: string): Found {
    const parsed = parseInstanceUri(text)
    if (parsed === null || ownSchemes.has(parsed.scheme)) {
      const error = new ResourceNotFound(text)
      error.message += '; the scene of an instance is instance://<id>/scene/current'
      throw error
    }
    return { instanceId: this.#idOf(parsed.selector, text), inner: parsed.inner }
  }

  /** The one spelling under which updates are announced; undefined: there is no such instance. */
  canonical(text: string): string | undefined {
    const parsed = parseInstanceUri(text)
    const [id, ...others] = parsed === null ? [] : this.#idsOf(parsed.selector)
    if (parsed === null || id === undefined || others.length > 0) return undefined
    return canonicalOuter(id, parsed)
  }

  /** The instance that a word of a caller names: an id, a kind, a document; absent: the only one. */
  choose(word: string | undefined): InstanceEntry {
    const named = this.live.map(entry => {
      const { instanceId: id, dccType, displayName, scene } = entry.record
      return { id, dccType, displayName, scene, entry }
    })
    const selected = selectInstance(named, word)
    const [id, ...others] = word === undefined ? [] : this.#idsOf(word)
    // Digits of one that has ended must not choose another one.
    if (id !== undefined && others.length > 0) throw ambiguous(word ?? '', [id, ...others])
    if (selected.kind === 'one') return selected.instance.entry
    if (id !== undefined) this.assertThere(id)
    if (selected.kind === 'too_short') {
      throw notNamed(`"${word}" is too short: at least ${minPrefixChars} digits of the id`)
    }
    const candidates = selected.kind === 'several' ? selected.instances : named
    const ids = shortIds(candidates)
    if (candidates.length === 0) throw notNamed('no instance runs on this machine')
    const lines = candidates
      .slice(0, maxCandidates)
      .map(({ entry }, at) => `${ids[at]}: ${labelOf(entry)}`)
    if (candidates.length > maxCandidates) lines.push('gateway://instances has all of them')
    const which = word === undefined ? '' : ` as "${cleanText(word, maxWordChars)}"`
    const found =
      selected.kind === 'several'
        ? `${candidates.length} instances run${which}`
        : `no instance runs${which}`
    throw notNamed(`${found}; name one of them as "instance":\n${lines.join('\n')}`)
  }

  /** The contents as they come from the instance. */
  async relay(text: string, reader?: Reader): Promise<RelayedContents> {
    const { instanceId, inner } = this.find(text)
    if (drains(inner)) {
      throw new ResourceUriInvalid('a gateway never drains events: leave out drain')
    }
    return this.#asked(instanceId, relay => relay.reads.read(inner, text, reader))
  }

  /** The result of a request to the instance. */
  call(instanceId: string, ...call: Call): Promise<JsonObject> {
    return this.#asked(instanceId, relay => relay.calls.ask(...call))
  }

  /** `uri`: canonical, without its query. The promise is of the time when updates arrive. */
  follow(uri: string): Promise<void> {
    try {
      const { instanceId, inner } = this.find(uri)
      this.assertThere(instanceId)
      return this.relayTo(instanceId).pushes.follow(inner)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  unfollow(uri: string): void {
    const parsed = parseInstanceUri(uri)
    if (parsed === null) return
    this.#relays.get(parsed.selector)?.pushes.unfollow(parsed.inner)
    if (this.#isRemoved(parsed.selector)) this.#free(parsed.selector)
  }

  /** Throws for an instance that has ended. */
  assertThere(instanceId: string): void {
    const error = this.#ended.errorOf(instanceId)
    if (error !== null) throw error
  }

  /** After a failure: the error of an instance that has ended meanwhile. */
  async goneNow(instanceId: string): Promise<ServiceError | null> {
    await this.#parts.directory.refresh()
    return this.#ended.errorOf(instanceId)
  }

  relayTo(instanceId: string): Relay {
    const known = this.#relays.get(instanceId)
    if (known !== undefined) return known
    const { instancesDir, mayUseKey, timer, limits, log, updated, listChanged } = this.#parts
    const locate = () => this.#locate(instanceId)
    const upstream = new Upstream({ instanceId, locate, mayUseKey, instancesDir, timer })
    const relay = {
      upstream,
      reads: new InstanceReads({ instanceId, upstream, timer, limits }),
      pushes: new InstancePushes({
        ...{ upstream, listChanged, timer, limits, log },
        updated: inner => updated(outerUri(instanceId, inner) ?? inner),
        gone: () => this.goneNow(instanceId),
      }),
      calls: new InstanceCalls({ instanceId, upstream, timer, limits, log }),
    }
    this.#relays.set(instanceId, relay)
    return relay
  }

  async close(): Promise<void> {
    this.#stop()
    const relays = [...this.#relays.values()]
    await Promise.all(relays.map(({ pushes }) => pushes.close()))
    for (const { upstream } of relays) upstream.close()
  }

  async #asked<Answer>(
    instanceId: string,
    ask: (relay: Relay) => Promise<Answer>,
  ): Promise<Answer> {
    this.assertThere(instanceId)
    try {
      return await ask(this.relayTo(instanceId))
    } catch (error) {
      if (!isUnreachable(error)) throw error
      throw (await this.goneNow(instanceId)) ?? error
    }
  }

  #locate(instanceId: string): URL {
    const { urls } = this.#knownNow()
    const known = urls.get(instanceId)
    if (known !== undefined) return known
    const { directory, hostname, isOwn } = this.#parts
    const entry = directory.entries.find(({ record }) => record.instanceId === instanceId)
    if (entry === undefined) throw unreachable('it is not known any more')
    const at = probeUrl(entry.record, hostname)
    if (!at.ok) throw unreachable(at.failure)
    if (isOwn(at.value)) throw unreachable('its address is that of this gateway')
    const url = new URL('/mcp', at.value)
    urls.set(instanceId, url)
    return url
  }

  #knownNow(): Known {
    const { entries } = this.#parts.directory
    if (this.#known.entries !== entries) this.#known = { entries, ids: new Map(), urls: new Map() }
    return this.#known
  }

  /** The ids that are the selector or begin with it, also of those that have ended. */
  #idsOf(selector: string): readonly string[] {
    const digits = idPrefix(selector)
    if (digits === null || digits.length < minPrefixChars) return []
    const known = this.#parts.directory.entries.map(({ record }) => record.instanceId)
    const ids = [...new Set([...known, ...this.#ended.ids])]
    return ids.filter(id => plainId(id).startsWith(digits))
  }

  #idOf(selector: string, text: string): string {
    const { ids } = this.#knownNow()
    const known = ids.get(selector)
    if (known !== undefined) return known
    const [id, ...others] = this.#idsOf(selector)
    if (id !== undefined && others.length > 0) throw ambiguous(selector, [id, ...others], text)
    if (id !== undefined) {
      if (ids.size < maxKnownIds) ids.set(selector, id)
      return id
    }
    const digits = idPrefix(selector)
    if (digits !== null && digits.length < minPrefixChars) {
      throw new ResourceUriInvalid(
        `the digits "${selector}" are too short: write at least ${minPrefixChars}`,
        {
          hint: 'gateway://instances has the ids',
          data: { uri: text },
        },
      )
    }
    const error = new ResourceNotFound(text)
    error.message += '; no such instance is known, gateway://instances has the ids'
    throw error
  }

  #isRemoved(instanceId: string): boolean {
    return [...this.#ended.ids].includes(instanceId)
  }

  /** Forgets the way to an instance without a record that no client follows. */
  #free(instanceId: string): void {
    const relay = this.#relays.get(instanceId)
    if (relay === undefined || relay.pushes.isFollowed) return
    this.#relays.delete(instanceId)
    void relay.pushes.close().then(() => relay.upstream.close())
  }

  /** Subscribers are notified: they read, and learn what became of the instance. */
  #notifySubscribers(instanceId: string): void {
    for (const inner of this.#relays.get(instanceId)?.pushes.uris ?? []) {
      this.#parts.updated(outerUri(instanceId, inner) ?? inner)
    }
  }
}

function notNamed(message: string): ServiceError {
  return new ServiceError('resource_uri_invalid', message)
}

function ambiguous(selector: string, ids: readonly string[], uri?: string): ServiceError {
  const shown = ids.slice(0, maxCandidates)
  return new ResourceUriInvalid(`several instances begin with the digits "${selector}"`, {
    hint: `write more digits: ${shown.join(', ')}`,
    data: { ...(uri !== undefined && { uri }), candidates: shown },
  })
}
