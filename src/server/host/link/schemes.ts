import { z } from 'zod'
import { invalidMember, orThrow, withoutNulls } from '../../../lib/host-link/check.ts'
import { wellFormedJson } from '../../../lib/util/json.ts'
import { descriptorForm, templateForm, typedContents } from '../../resources/producer-check.ts'
import type { Content, Descriptor, Reader, Template } from '../../resources/producer.ts'
import type { ResourceRegistry } from '../../resources/registry.ts'
import { isScheme, parseResourceUri, type ResourceUri } from '../../resources/resource-uri.ts'
import type { SchemeProducer } from '../../resources/scheme-producer.ts'
import { hostFailure, LinkRefusal } from './failures.ts'
import type { Requests } from './requests.ts'

/** Resources, and templates, of one scheme. */
const maxResources = 2000

/** Schemes of a lost link stay listed for this long. */
const usualGraceMs = 60_000

/** Frozen, so that the server serialises an unchanged list once. */
function listOf<Item>(form: z.ZodType<Item>) {
  const item = z.preprocess(withoutNulls, form.readonly())
  return z.array(item).max(maxResources).readonly().prefault([])
}

/**
 * The schemes that the application offers, over all its connections. After the end of one they wait
 * to be registered again.
 */
export class Schemes {
  readonly #registry: ResourceRegistry
  readonly #graceMs: number
  /** In the order of their listing. */
  readonly #byName = new Map<string, LinkedScheme>()

  constructor(registry: ResourceRegistry, graceMs = usualGraceMs) {
    this.#registry = registry
    this.#graceMs = graceMs
  }

  /** `producer.register`; `requests` are those of the connection that it came on. */
  register(scheme: string, resources: unknown, templates: unknown, requests: Requests): void {
    const lists = z.object({
      resources: listOf(descriptorForm(scheme)),
      templates: listOf(templateForm(scheme)),
    })
    const offered = orThrow(lists, { resources, templates })
    const known = this.#byName.get(scheme) ?? this.#add(scheme)
    const isBack = known.requests === null
    clearTimeout(known.removal)
    known.requests = requests
    known.resources = offered.resources
    known.offeredTemplates = offered.templates
    this.#registry.listChanged()
    if (isBack) this.#registry.schemeUpdated(scheme)
  }

  /** `resource.updated` */
  updated(uri: string): void {
    const parsed = parseResourceUri(uri)
    if (!parsed.ok) throw invalidMember('/uri', parsed.failure.replace(/^uri /, ''))
    const { scheme, text } = parsed.value
    if (this.#byName.has(scheme)) return this.#registry.notifyUpdated(text)
    throw new LinkRefusal('not_found', `no producer of ${scheme}:// is registered`)
  }

  /** The connection is lost: its schemes stay listed for a while. */
  disconnect(): void {
    for (const known of this.#byName.values()) {
      if (known.requests === null) continue
      known.requests = null
      known.removal = setTimeout(() => this.#remove(known), this.#graceMs).unref()
      this.#registry.schemeUpdated(known.scheme)
    }
  }

  /** The application does not come back. */
  forget(): void {
    for (const known of [...this.#byName.values()]) this.#remove(known)
  }

  #add(scheme: string): LinkedScheme {
    if (!isScheme(scheme)) {
      const form = 'a lower-case letter, then letters, digits, "+", "-" or "."'
      throw invalidMember('/scheme', `must be ${form}, at most 64 characters`)
    }
    if (!this.#registry.isFree(scheme)) {
      throw new LinkRefusal(
        'scheme_taken',
        `${scheme}:// has another producer, or is the server's own`,
      )
    }
    const added = new LinkedScheme(scheme)
    this.#byName.set(scheme, added)
    this.#registry.attach(scheme, added)
    return added
  }

  #remove(known: LinkedScheme): void {
    clearTimeout(known.removal)
    known.requests = null
    this.#byName.delete(known.scheme)
    this.#registry.detach(known.scheme)
  }
}

/** One scheme as clients see it: the lists are what the application said last, a read asks it. */
class LinkedScheme implements SchemeProducer {
  readonly scheme: string
  /** Null while the application that offered it is not connected. */
  requests: Requests | null = null
  removal: NodeJS.Timeout | undefined
  resources: readonly Descriptor[] = []
  offeredTemplates: readonly Template[] = []

  constructor(scheme: string) {
    this.scheme = scheme
  }

  list(): readonly Descriptor[] {
    return this.resources
  }

  templates(): readonly Template[] {
    return this.offeredTemplates
  }

  async read({ text: uri }: ResourceUri, reader?: Reader): Promise<readonly Content[]> {
    if (this.requests === null) throw hostFailure('host_disconnected')
    const contents = await this.requests.read(uri, reader?.signal)
    const typeOf = (of: string) => this.resources.find(each => each.uri === of)?.mimeType
    // Contents are for the URI that was asked for, however the application spells it.
    const answer = typedContents(contents, typeOf).map((content, at) => {
      const isJson = 'text' in content && content.mimeType?.includes('json')
      const text = isJson ? { text: wellFormedJson(content.text) } : {}
      return Object.freeze({ ...content, ...text, uri: at > 0 ? content.uri : uri })
    })
    return Object.freeze(answer)
  }
}
