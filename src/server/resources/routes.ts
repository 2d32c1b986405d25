import { parseArtefactUri } from '../../lib/mcp/uris.ts'
import type { Logger } from '../../lib/util/logger.ts'
import { type BuiltIn, echoed } from './built-in.ts'
import { type Completion, completion, type OwnedTemplate, templateVariables } from './completion.ts'
import type { CustomProducer } from './custom-producer.ts'
import { ownReadError, ResourceNotEnabled, ResourceNotFound, ResourceUriInvalid } from './errors.ts'
import type { ListSources } from './listing.ts'
import { chain, type MaybePromise, recovered } from './maybe-promise.ts'
import type {
  CompletionContext,
  CompletionValues,
  Content,
  Descriptor,
  DescriptorPage,
  PagedProducer,
  Reader,
  Template,
} from './producer.ts'
import { normaliseUri, type ResourceUri } from './resource-uri.ts'
import { isPolledScheme, type SchemeSource } from './schemes.ts'
import { ServiceError } from '../../lib/util/errors.ts'

export interface ResourceRoutesOptions {
  /** By scheme, in the order of the listing. */
  builtIns: Readonly<Record<string, BuiltIn>>
  artefacts?: PagedProducer
  /** Schemes that are known and switched off → why. */
  disabled?: Readonly<Record<string, string>>
  log: Logger
}

/** Which producer serves which scheme. */
export class ResourceRoutes implements ListSources {
  readonly artefacts: ListSources['artefacts']
  readonly #builtIns: ReadonlyMap<string, BuiltIn>
  readonly #custom = new Map<string, CustomProducer>()
  readonly #attached = new Map<string, SchemeSource>()
  readonly #artefactSource: ArtefactSource | undefined
  readonly #disabled: ReadonlyMap<string, string>
  readonly #log: Logger
  #owned: ReadonlyMap<string, OwnedTemplate> | undefined
  #templates: readonly Template[] = []

  constructor({ builtIns, artefacts, disabled = {}, log }: ResourceRoutesOptions) {
    this.#builtIns = new Map(Object.entries(builtIns))
    this.#disabled = new Map(Object.entries(disabled))
    this.#log = log
    const source = artefacts && new ArtefactSource(artefacts, log)
    this.#artefactSource = source
    this.artefacts = source && ((after, limit) => source.page(after, limit))
  }

  serves(scheme: string): boolean {
    return this.#builtIns.has(scheme) || this.#custom.has(scheme) || this.#attached.has(scheme)
  }

  add(producer: CustomProducer): void {
    this.#custom.set(producer.scheme, producer)
    this.#owned = undefined
  }

  attach(source: SchemeSource): void {
    this.#attached.set(source.scheme, source)
    this.#owned = undefined
  }

  detach(source: SchemeSource): void {
    this.#attached.delete(source.scheme)
    this.#owned = undefined
  }

  /** The templates of a source, or of a built-in producer, are others now. */
  templatesChanged(): void {
    this.#owned = undefined
  }

  fixed(): readonly MaybePromise<readonly Descriptor[]>[] {
    return this.#producers().map(producer => producer.list())
  }

  read(uri: ResourceUri, reader?: Reader): MaybePromise<readonly Content[]> {
    const builtIn = this.#builtIns.get(uri.scheme)
    if (builtIn !== undefined) return this.#readBuiltIn(builtIn, uri, reader)
    const custom = this.#custom.get(uri.scheme)
    if (custom !== undefined) return custom.read(uri.text)
    const attached = this.#attached.get(uri.scheme)
    if (attached !== undefined) return this.#readOwn(uri, () => attached.read(uri.text, reader))
    return this.#readArtefact(uri)
  }

  /**
   * Any well-formed URI of a served scheme: the resource may come later. Throws
   * `ResourceUriInvalid` for one that can never be read.
   */
  assertServed(uri: ResourceUri): void {
    this.#builtIns.get(uri.scheme)?.checkParameters?.(uri)
    if (this.serves(uri.scheme)) return
    this.#artefactsFor(uri)
    if (parseArtefactUri(normaliseUri(uri.text)) === null) {
      throw new ResourceUriInvalid('an artefact URI has the form artefact://sha256/<64 digits>')
    }
  }

  /** The one spelling under which updates of the URI are announced. */
  canonical(uri: ResourceUri): string {
    return this.#builtIns.get(uri.scheme)?.canonical?.(uri) ?? normaliseUri(uri.text)
  }

  /** Whether reading the URI changes what others find. */
  changes(uri: ResourceUri): boolean {
    return this.#builtIns.get(uri.scheme)?.changes?.(uri) ?? false
  }

  /** Whether updates of the URI ever come. */
  pushes(uri: ResourceUri): boolean {
    return this.#builtIns.get(uri.scheme)?.pushes?.(uri) ?? !isPolledScheme(uri.scheme)
  }

  /** The same array until a producer is added or goes, or a source says that its own changed. */
  templates(): readonly Template[] {
    this.#ownedTemplates()
    return this.#templates
  }

  async complete(
    ref: string,
    variable: string,
    prefix: string,
    resolved: ReadonlyMap<string, string> = new Map(),
  ): Promise<Completion> {
    const owner = this.#ownedTemplates().get(ref)
    if (owner === undefined) {
      throw new ResourceUriInvalid('no such resource template; resources/templates/list has them')
    }
    const variables = templateVariables(ref)
    if (!variables.includes(variable)) {
      throw new ResourceUriInvalid(`the variables of the template are: ${variables.join(', ')}`)
    }
    const context = { uriTemplate: ref, resolved: only(variables, resolved) }
    try {
      return completion(await owner.complete(variable, prefix, context))
    } catch (error) {
      this.#log.warn({ err: error, ref, variable }, 'completion failed')
      return completion([])
    }
  }

  /** In the order of the listing. */
  #producers(): readonly (BuiltIn | CustomProducer | SchemeSource)[] {
    return [...this.#builtIns.values(), ...this.#custom.values(), ...this.#attached.values()]
  }

  #readBuiltIn(
    producer: BuiltIn,
    uri: ResourceUri,
    reader: Reader | undefined,
  ): MaybePromise<readonly Content[]> {
    if (!uri.plain) throw new ResourceNotFound(uri.text)
    return this.#readOwn(uri, () => producer.read(uri, reader))
  }

  #readOwn(
    { scheme, text }: ResourceUri,
    read: () => MaybePromise<readonly Content[]>,
  ): MaybePromise<readonly Content[]> {
    return recovered(read, error => {
      throw ownReadError(error, scheme, text, this.#log)
    })
  }

  /** The store knows one spelling of each URI. */
  #readArtefact(uri: ResourceUri): MaybePromise<readonly Content[]> {
    const source = this.#artefactsFor(uri)
    const plain = normaliseUri(uri.text)
    if (plain === uri.text) return source.read(plain)
    return recovered(
      () => chain(source.read(plain), contents => echoed(contents, uri.text)),
      error => {
        throw error instanceof ResourceNotFound ? new ResourceNotFound(uri.text) : error
      },
    )
  }

  #artefactsFor(uri: ResourceUri): ArtefactSource {
    const source = uri.scheme === 'artefact' ? this.#artefactSource : undefined
    if (source !== undefined) return source
    const why = this.#disabled.get(uri.scheme)
    throw why === undefined ? new ResourceNotFound(uri.text) : new ResourceNotEnabled(uri.text, why)
  }

  #ownedTemplates(): ReadonlyMap<string, OwnedTemplate> {
    if (this.#owned !== undefined) return this.#owned
    const owned = new Map<string, OwnedTemplate>()
    const artefacts = this.#artefactSource === undefined ? [] : [this.#artefactSource]
    for (const owner of [...this.#producers(), ...artefacts]) {
      for (const template of owner.templates()) {
        owned.set(template.uriTemplate, {
          template,
          complete: (variable, prefix, context) =>
            owner.complete?.(variable, prefix, context) ?? [],
        })
      }
    }
    this.#owned = owned
    this.#templates = Object.freeze(Array.from(owned.values(), ({ template }) => template))
    return owned
  }
}

/** A client may say more than the template asks for, and more than is worth looking through. */
function only(
  names: readonly string[],
  values: ReadonlyMap<string, string>,
): ReadonlyMap<string, string> {
  return new Map(
    names.flatMap(name => {
      const value = values.get(name)
      return value === undefined ? [] : [[name, value] as const]
    }),
  )
}

const emptyPage: DescriptorPage = Object.freeze({ descriptors: Object.freeze([]) })

/** The artefacts as the resource registry uses them: a failing store never costs the other resources. */
class ArtefactSource {
  readonly #producer: PagedProducer
  readonly #log: Logger

  constructor(producer: PagedProducer, log: Logger) {
    this.#producer = producer
    this.#log = log
  }

  /** Rejects only for an invalid position. */
  page(after: string | undefined, limit: number): MaybePromise<DescriptorPage> {
    return recovered(
      () => this.#producer.page(after, limit),
      error => {
        if (error instanceof ServiceError && error.code === 'resource_uri_invalid') throw error
        this.#log.error({ err: error }, 'artefacts cannot be listed')
        return emptyPage
      },
    )
  }

  read(uri: string): MaybePromise<readonly Content[]> {
    return recovered(
      () => this.#producer.read(uri),
      error => {
        throw ownReadError(error, 'artefact', uri, this.#log)
      },
    )
  }

  templates(): readonly Template[] {
    return this.#producer.templates?.() ?? []
  }

  async complete(
    variable: string,
    prefix: string,
    context: CompletionContext,
  ): Promise<CompletionValues> {
    return (await this.#producer.complete?.(variable, prefix, context)) ?? []
  }
}
