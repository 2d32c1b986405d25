import { isDeepStrictEqual } from 'node:util'
import type { z } from 'zod'
import { invalidMember, orThrow, withoutNulls } from '../../../lib/host-link/check.ts'
import { messageOf } from '../../../lib/util/errors.ts'
import { wellFormedJson } from '../../../lib/util/json.ts'
import type { Logger } from '../../../lib/util/logger.ts'
import { listedValues } from '../../resources/completion.ts'
import { descriptorForm, templateForm } from '../../resources/producer-check.ts'
import type {
  CompletionContext,
  Content,
  Descriptor,
  Reader,
  Template,
} from '../../resources/producer.ts'
import type { ResourceRegistry } from '../../resources/registry.ts'
import { isScheme, parseResourceUri, type ResourceUri } from '../../resources/resource-uri.ts'
import type { SchemeProducer } from '../../resources/scheme-producer.ts'
import { typedContents } from '../../resources/typed-contents.ts'
import { hostFailure, LinkRefusal } from './failures.ts'
import type { Requests } from './requests.ts'

const maxSchemes = 16
/** Resources, and templates, of one scheme. */
const maxResources = 2000

interface SchemesParts {
  readonly registry: ResourceRegistry
  /** Schemes of a lost link stay listed for this long. */
  readonly graceMs: number
  readonly log: Logger
}

/**
 * The schemes that the application offers, over all its connections. After the end of one they wait
 * to be registered again.
 */
export class Schemes {
  readonly #parts: SchemesParts
  /** In the order of their listing. */
  readonly #byName = new Map<string, LinkedScheme>()
  #requests: Requests | null = null

  constructor(parts: SchemesParts) {
    this.#parts = parts
  }

  connect(requests: Requests): void {
    this.#requests = requests
  }

  /** `producer.register` */
  register(scheme: string, resources: unknown, templates: unknown): void {
    const { registry } = this.#parts
    checkScheme(scheme)
    const listed = resourcesOf(resources ?? [], scheme)
    const forms = parseList(templates ?? [], '/templates', templateForm(scheme))
    const offered = uniqueBy(forms, ({ uriTemplate }) => uriTemplate)
    const known = this.#byName.get(scheme) ?? this.#add(scheme)
    const isBack = known.requests === null
    known.connect(this.#requests)
    if (known.replace(listed, offered)) registry.listChanged()
    if (isBack) registry.schemeUpdated(scheme)
  }

  /** `producer.unregister` */
  unregister(scheme: string): void {
    const known = this.#byName.get(scheme)
    if (known === undefined) throw unknownScheme(scheme)
    this.#remove(known)
  }

  /**
   * `producer.list_changed`: takes the resources, or asks for them when there are none in the
   * message. The old ones stay until the answer is there, and when it is wrong or late.
   */
  listChanged(scheme: string, resources: unknown): void {
    const known = this.#connected(scheme)
    if (resources !== undefined && resources !== null) this.#replaceList(known, resources)
    else void this.#fetchList(known)
  }

  /** `resource.updated` */
  updated(uri: string): void {
    const parsed = parseResourceUri(uri)
    if (!parsed.ok) throw invalidMember('/uri', parsed.failure.replace(/^uri /, ''))
    this.#connected(parsed.value.scheme)
    this.#parts.registry.notifyUpdated(parsed.value.text)
  }

  /** The connection is lost: its schemes stay listed for a while. */
  disconnect(): void {
    this.#requests = null
    const { registry, graceMs } = this.#parts
    for (const known of this.#byName.values()) {
      if (known.requests === null) continue
      known.disconnect(setTimeout(() => this.#remove(known), graceMs).unref())
      registry.schemeUpdated(known.scheme)
    }
  }

  /** The application does not come back. */
  forget(): void {
    for (const known of [...this.#byName.values()]) this.#remove(known)
  }

  #add(scheme: string): LinkedScheme {
    const { registry } = this.#parts
    const state = registry.schemeState(scheme)
    if (state === 'reserved') {
      throw new LinkRefusal('scheme_reserved', `${scheme}:// is the server's own`)
    }
    if (state === 'taken') {
      throw new LinkRefusal('scheme_taken', `${scheme}:// is served by another producer`)
    }
    if (this.#byName.size >= maxSchemes) this.#makeSpace()
    const added = new LinkedScheme(scheme)
    this.#byName.set(scheme, added)
    registry.attach(scheme, added)
    return added
  }

  /** A scheme that is not registered again makes room for those that are offered now. */
  #makeSpace(): void {
    const waiting = this.#byName.values().find(({ requests }) => requests === null)
    if (waiting === undefined) {
      throw new LinkRefusal('limit', `there are ${maxSchemes} schemes already`)
    }
    this.#remove(waiting)
  }

  #connected(scheme: string): LinkedScheme {
    const known = this.#byName.get(scheme)
    if (known === undefined || known.requests === null) throw unknownScheme(scheme)
    return known
  }

  #replaceList(known: LinkedScheme, resources: unknown): void {
    const listed = resourcesOf(resources, known.scheme)
    if (known.replace(listed, known.templates())) this.#parts.registry.listChanged()
  }

  async #fetchList(known: LinkedScheme): Promise<void> {
    try {
      const resources = await known.fetchList()
      if (resources !== undefined) this.#replaceList(known, resources)
    } catch (error) {
      this.#parts.log.warn(
        { scheme: known.scheme, trouble: messageOf(error) },
        'the application did not list its resources: the old list stays',
      )
    }
  }

  #remove(known: LinkedScheme): void {
    known.disconnect()
    this.#byName.delete(known.scheme)
    this.#parts.registry.detach(known.scheme)
  }
}

/** One scheme as clients see it: lists are what the application said last, a read is a question to it. */
class LinkedScheme implements SchemeProducer {
  readonly scheme: string
  #resources: readonly Descriptor[] = Object.freeze([])
  #templates: readonly Template[] = Object.freeze([])
  /** Null while the application that offered it is not connected. */
  #requests: Requests | null = null
  #removal: NodeJS.Timeout | undefined
  #isFetching = false
  #fetchAgain = false

  constructor(scheme: string) {
    this.scheme = scheme
  }

  get requests(): Requests | null {
    return this.#requests
  }

  list(): readonly Descriptor[] {
    return this.#resources
  }

  templates(): readonly Template[] {
    return this.#templates
  }

  async read({ text: uri }: ResourceUri, reader?: Reader): Promise<readonly Content[]> {
    if (this.#requests === null) throw hostFailure('host_disconnected')
    const contents = await this.#requests.read(uri, reader?.signal)
    const typeOf = (of: string) => this.#resources.find(each => each.uri === of)?.mimeType
    // Contents are for the URI that was asked for, however the application spells it.
    const answer = typedContents(contents, typeOf).map((content, at) => {
      const isJson = 'text' in content && content.mimeType?.includes('json')
      const text = isJson ? { text: wellFormedJson(content.text) } : {}
      return Object.freeze({ ...content, ...text, uri: at > 0 ? content.uri : uri })
    })
    return Object.freeze(answer)
  }

  /** Completes from the list of resources, without a request to the application. */
  complete(variable: string, prefix: string, context: CompletionContext): readonly string[] {
    return listedValues(this.#resources, variable, prefix, context)
  }

  connect(requests: Requests | null): void {
    clearTimeout(this.#removal)
    this.#requests = requests
  }

  disconnect(removal?: NodeJS.Timeout): void {
    clearTimeout(this.#removal)
    this.#removal = removal
    this.#requests = null
  }

  /** False when it says the same as before: then the arrays stay the identical ones. */
  replace(resources: readonly Descriptor[], templates: readonly Template[]): boolean {
    const isSame = isDeepStrictEqual([resources, templates], [this.#resources, this.#templates])
    if (isSame) return false
    this.#resources = resources
    this.#templates = templates
    return true
  }

  /**
   * The list of the application, or undefined when it is not to be taken: one is on its way
   * already, or its connection is over. Asks once more when it was called meanwhile, because the
   * answer may be older than that.
   */
  async fetchList(): Promise<unknown> {
    this.#fetchAgain = true
    if (this.#isFetching) return undefined
    this.#isFetching = true
    try {
      let resources: unknown
      while (this.#fetchAgain && this.#requests !== null) {
        this.#fetchAgain = false
        const requests = this.#requests
        resources = await requests.list(this.scheme)
        if (requests !== this.#requests) resources = undefined
      }
      return resources
    } finally {
      this.#isFetching = false
    }
  }
}

function checkScheme(scheme: string): void {
  if (isScheme(scheme)) return
  const form = 'a lower-case letter, then letters, digits, "+", "-" or ".", at most 64 characters'
  throw invalidMember('/scheme', `must be ${form}`)
}

/** The member `resources`. Of several with one URI the first counts. */
function resourcesOf(value: unknown, scheme: string): readonly Descriptor[] {
  const listed = parseList(value, '/resources', descriptorForm(scheme))
  return uniqueBy(listed, ({ uri }) => uri)
}

/** Frozen, so that the server serialises an unchanged list once. */
function uniqueBy<Item>(items: readonly Item[], key: (item: Item) => string): readonly Item[] {
  const byKey = new Map<string, Item>()
  for (const item of items) if (!byKey.has(key(item))) byKey.set(key(item), Object.freeze(item))
  return Object.freeze([...byKey.values()])
}

function parseList<Item>(value: unknown, pointer: string, form: z.ZodType<Item>): Item[] {
  if (!Array.isArray(value)) throw invalidMember(pointer, 'must be an array')
  if (value.length > maxResources) {
    throw new LinkRefusal('limit', `${pointer} must not have more than ${maxResources} entries`)
  }
  return value.map((item: unknown, at) => orThrow(form, withoutNulls(item), `${pointer}/${at}`))
}

function unknownScheme(scheme: string): LinkRefusal {
  return new LinkRefusal('not_found', `no producer of ${scheme}:// is registered`)
}
