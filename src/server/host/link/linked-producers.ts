import type { HostLimits } from '../limits.ts'
import type { Logger } from '../../../lib/util/logger.ts'
import { type Result, fail, ok } from '../../../lib/util/result.ts'
import type { ResourceRegistry } from '../../resources/registry.ts'
import { parseResourceUri } from '../../resources/resource-uri.ts'
import type { Timer } from '../../../lib/util/time.ts'
import type { AppQuestions } from './app-requests.ts'
import { LinkedScheme, type Offer } from './linked-scheme.ts'
import { type OfferLimits, parseResources, parseScheme, parseTemplates } from './parse-offer.ts'
import { LinkRefusal } from './failures.ts'

interface LinkedProducersParts {
  registry: Pick<
    ResourceRegistry,
    'attach' | 'detach' | 'listChanged' | 'schemeState' | 'schemeUpdated' | 'notifyUpdated'
  >
  timer: Timer
  limits: OfferLimits & Pick<HostLimits, 'maxLinkSchemes' | 'linkGraceMs'>
  log: Logger
}

/** What became of a message; the failure is the error answer to it. */
export type Told = Result<null, LinkRefusal>

interface Entry {
  readonly source: LinkedScheme
  /** Set while the scheme waits for its application to come back. */
  cancelGrace: (() => void) | null
}

const done: Told = ok(null)

/**
 * The schemes that one run of an application offers, over all its connections: `connected` with
 * the questions of each, `disconnected` at its end, `forget` after `bye`, before
 * another application takes its place, and when the server stops. Members of messages come as
 * they were sent; null and undefined mean absent.
 */
export class LinkedProducers {
  readonly #parts: LinkedProducersParts
  /** In the order of their listing; never more than `maxLinkSchemes`. */
  readonly #entries = new Map<string, Entry>()
  #questions: AppQuestions | null = null

  constructor(parts: LinkedProducersParts) {
    this.#parts = parts
  }

  /** A connection is open. Schemes of an earlier one wait to be registered again. */
  connected(questions: AppQuestions): void {
    this.disconnected()
    this.#questions = questions
  }

  /** `producer.register` */
  register(scheme: unknown, resources: unknown, templates: unknown): Told {
    const { limits } = this.#parts
    const name = parseScheme(scheme)
    if (!name.ok) return name
    const listed = parseResources(resources ?? [], name.value, limits)
    if (!listed.ok) return listed
    const forms = parseTemplates(templates ?? [], name.value, limits)
    if (!forms.ok) return forms
    if (this.#questions === null) return notConnected()
    const offer = { resources: listed.value, templates: forms.value }
    const entry = this.#entries.get(name.value)
    if (entry === undefined) return this.#add(name.value, offer, this.#questions)
    const isBack = !entry.source.isConnected
    entry.cancelGrace?.()
    entry.cancelGrace = null
    entry.source.connect(this.#questions)
    const { registry } = this.#parts
    if (entry.source.replace(offer)) registry.listChanged()
    if (isBack) registry.schemeUpdated(name.value)
    return done
  }

  /** `producer.unregister` */
  unregister(scheme: unknown): Told {
    const name = parseScheme(scheme)
    if (!name.ok) return name
    const entry = this.#entries.get(name.value)
    if (entry === undefined) return unknownScheme(name.value)
    this.#remove(entry)
    return done
  }

  /**
   * `producer.list_changed`: takes the resources, or asks for them when there are none in the
   * message. The old ones stay until the answer is there, and when it is wrong or late.
   */
  listChanged(scheme: unknown, resources: unknown): Told {
    const name = parseScheme(scheme)
    if (!name.ok) return name
    const entry = this.#own(name.value)
    if (entry === undefined) return unknownScheme(name.value)
    if (resources !== undefined && resources !== null) return this.#replaceList(entry, resources)
    const failed = (trouble: string) =>
      this.#parts.log.warn(
        { scheme: name.value, trouble },
        'the application did not list its resources: the old list stays',
      )
    void entry.source.refresh(raw => {
      const told = this.#replaceList(entry, raw)
      if (!told.ok) failed(told.failure.message)
    }, failed)
    return done
  }

  /** `resource.updated` */
  updated(uri: unknown): Told {
    const parsed = parseResourceUri(uri)
    if (!parsed.ok) return fail(new LinkRefusal('invalid', `/${parsed.failure}`))
    const { text, scheme } = parsed.value
    if (this.#own(scheme) === undefined) return unknownScheme(scheme)
    this.#parts.registry.notifyUpdated(text)
    return done
  }

  /** The connection is lost: its schemes stay listed for `linkGraceMs`. */
  disconnected(): void {
    this.#questions = null
    const { timer, limits, registry } = this.#parts
    for (const entry of this.#entries.values()) {
      const isNews = entry.source.isConnected
      entry.source.disconnect()
      if (isNews) registry.schemeUpdated(entry.source.scheme)
      entry.cancelGrace ??= timer.after(limits.linkGraceMs, () => this.#remove(entry))
    }
  }

  /** Everything goes at once. */
  forget(): void {
    this.#questions = null
    for (const entry of [...this.#entries.values()]) this.#remove(entry)
  }

  #add(scheme: string, offer: Offer, questions: AppQuestions): Told {
    const { registry, limits } = this.#parts
    const state = registry.schemeState(scheme)
    if (state === 'reserved') {
      return fail(new LinkRefusal('scheme_reserved', `${scheme}:// is the server's own`))
    }
    if (state === 'taken') {
      return fail(new LinkRefusal('scheme_taken', `${scheme}:// is served by another producer`))
    }
    if (!this.#hasSpace()) {
      const message = `there are ${limits.maxLinkSchemes} schemes already`
      return fail(new LinkRefusal('limit', message))
    }
    const source = new LinkedScheme(scheme, offer, questions)
    registry.attach(scheme, source)
    this.#entries.set(scheme, { source, cancelGrace: null })
    return done
  }

  /** Producers whose application is gone are removed for those that it offers now. */
  #hasSpace(): boolean {
    const { maxLinkSchemes } = this.#parts.limits
    if (this.#entries.size < maxLinkSchemes) return true
    const waiting = this.#entries.values().find(({ cancelGrace }) => cancelGrace !== null)
    if (waiting === undefined) return false
    this.#remove(waiting)
    return true
  }

  /** The entry of a scheme that this connection registered. */
  #own(scheme: string): Entry | undefined {
    const entry = this.#entries.get(scheme)
    return entry?.source.isConnected ? entry : undefined
  }

  #replaceList({ source }: Entry, raw: unknown): Told {
    const listed = parseResources(raw, source.scheme, this.#parts.limits)
    if (!listed.ok) return listed
    const offer = { resources: listed.value, templates: source.templates() }
    if (source.replace(offer)) this.#parts.registry.listChanged()
    return done
  }

  #remove({ source, cancelGrace }: Entry): void {
    cancelGrace?.()
    source.disconnect()
    this.#entries.delete(source.scheme)
    this.#parts.registry.detach(source.scheme)
  }
}

function unknownScheme(scheme: string): Told {
  return fail(new LinkRefusal('not_found', `no producer of ${scheme}:// is registered`))
}

function notConnected(): Told {
  return fail(new LinkRefusal('internal', 'the link is lost'))
}
