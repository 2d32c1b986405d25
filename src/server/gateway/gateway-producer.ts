import { minPrefixChars, plainId } from '../../lib/instances/select-instance.ts'
import type { SchemeProducer } from '../resources/scheme-producer.ts'
import { ResourceNotFound } from '../resources/errors.ts'
import type { Content, Descriptor, Template } from '../resources/producer.ts'
import type { ResourceUri } from '../resources/resource-uri.ts'
import type { CatalogResources } from './catalog/catalog-resources.ts'
import type { DiagnosticResources } from './diagnostics.ts'
import { type InstanceRows, rowStatuses } from './instance-rows.ts'
import { gatewayTemplates, instancesUri, rootDescriptors } from './gateway-uris.ts'
import { idPrefix } from './instance-query.ts'
import type { InstanceResources } from './instance-resources.ts'

interface GatewayProducerParts {
  readonly rows: InstanceRows
  readonly instances: InstanceResources
  readonly diagnostics: DiagnosticResources
  readonly catalog: CatalogResources
}

const onePrefix = 'instances/'
const entryPrefix = 'catalog/'
const pushedRoots: ReadonlySet<string> = new Set([
  'instances',
  'diagnostics/process',
  'diagnostics/metrics',
  'catalog',
])
const switches: ReadonlySet<string> = new Set(['include_stale', 'include_dead', 'verbose'])

/** The scheme `gateway://`: passes each URI to its resource. */
export class GatewayProducer implements SchemeProducer {
  readonly #parts: GatewayProducerParts

  constructor(parts: GatewayProducerParts) {
    this.#parts = parts
  }

  list(): readonly Descriptor[] {
    return rootDescriptors
  }

  templates(): readonly Template[] {
    return gatewayTemplates
  }

  checkParameters(uri: ResourceUri): void {
    const { instances, catalog } = this.#parts
    if (uri.path === 'instances') instances.checkParameters(uri)
    if (uri.path === 'catalog') catalog.checkParameters(uri)
  }

  read(uri: ResourceUri): readonly Content[] | Promise<readonly Content[]> {
    const { instances, diagnostics, catalog } = this.#parts
    const { path } = uri
    switch (path) {
      case 'instances':
        return instances.readList(uri)
      case 'diagnostics/process':
        return diagnostics.readProcess(uri)
      case 'diagnostics/audit':
        return diagnostics.readAudit(uri)
      case 'diagnostics/metrics':
        return diagnostics.readMetrics(uri)
      case 'catalog':
        return catalog.readList(uri)
    }
    if (path.startsWith(onePrefix)) return instances.readOne(uri, path.slice(onePrefix.length))
    if (path.startsWith(entryPrefix)) return catalog.readOne(uri, path.slice(entryPrefix.length))
    throw new ResourceNotFound(uri.text)
  }

  /** However an instance is selected: by the digits that its id begins with. */
  canonical({ path }: ResourceUri): string | undefined {
    if (!path.startsWith(onePrefix)) return undefined
    const prefix = idPrefix(path.slice(onePrefix.length))
    return prefix === null ? undefined : `${instancesUri}/${prefix}`
  }

  pushes({ path }: ResourceUri): boolean {
    if (!path.startsWith(onePrefix)) return pushedRoots.has(path) || path.startsWith(entryPrefix)
    // A prefix that matches no instance fails at once.
    const prefix = idPrefix(path.slice(onePrefix.length))
    return prefix !== null && prefix.length >= minPrefixChars
  }

  complete(variable: string, prefix: string): readonly string[] {
    const begins = (value: string) => value.toLowerCase().startsWith(prefix.toLowerCase())
    const { rows, catalog } = this.#parts
    switch (variable) {
      case 'instance_id':
        return this.#instanceIds(prefix)
      case 'dcc_type':
        return [...new Set(rows.compact().map(row => row.dcc_type))].toSorted().filter(begins)
      case 'status':
        return rowStatuses.filter(begins)
      case 'name':
        return catalog.names().filter(begins)
    }
    return switches.has(variable) ? ['true', 'false'].filter(begins) : []
  }

  /** Live instances come first: a client that completes an id wants to connect. */
  #instanceIds(prefix: string): string[] {
    const wanted = plainId(prefix)
    const rows = this.#parts.rows
      .compact()
      .filter(row => plainId(row.instance_id).startsWith(wanted))
    const isLive = (row: (typeof rows)[number]) => row.health === 'live'
    return [...rows.filter(isLive), ...rows.filter(row => !isLive(row))].map(row => row.instance_id)
  }
}
