import { instanceStaleMs } from '../../lib/instances/process.ts'
import { reapAfterMs } from '../../lib/instances/record-files.ts'
import { plainId } from '../../lib/instances/select-instance.ts'
import { isUuid } from '../../lib/util/text.ts'
import { toRfc3339 } from '../../lib/util/time.ts'
import { version } from '../../lib/util/version.ts'
import type { EndpointActivity } from '../mcp/endpoint.ts'
import { ResourceNotFound } from '../resources/errors.ts'
import { KeptAnswers } from '../resources/kept-answers.ts'
import type { Content, Descriptor, Template } from '../resources/producer.ts'
import { textParameter } from '../resources/query-parameters.ts'
import type { ResourceUri } from '../resources/resource-uri.ts'
import { builtIn, jsonContents, type SchemeProducer } from '../resources/scheme-producer.ts'
import type { Catalog } from './catalog.ts'
import type { InstanceDirectory, InstanceEntry } from './instance-directory.ts'
import {
  countByHealth,
  instanceRow,
  listInstances,
  ofType,
  parseInstanceQuery,
} from './instance-rows.ts'
import { reapEveryMs } from './local-directory.ts'
import { probeTimeoutMs } from './probes.ts'
import { KnownInstances } from './relay/known-instances.ts'

/** Resources that change with the directory. */
export const directoryUris = [
  'gateway://instances',
  'gateway://diagnostics/process',
  'gateway://diagnostics/metrics',
] as const

const audience = ['user', 'assistant'] as const

/** The root pointers: all that is listed. Single instances and entries are read by their URI. */
const descriptors: readonly Descriptor[] = builtIn([
  {
    uri: 'gateway://instances',
    name: 'Running instances',
    description:
      'Every application instance on this machine: what it is, in which state, and the mcp_url for a session with it',
    annotations: { audience, priority: 0.9 },
  },
  {
    uri: 'gateway://diagnostics/process',
    name: 'Gateway process',
    description:
      'The process of the gateway, how many instances are live, stale, unhealthy or dead, and invalid records',
    annotations: { audience, priority: 0.3 },
  },
  {
    uri: 'gateway://diagnostics/audit',
    name: 'Gateway activity',
    description: 'Calls pending at this gateway and subscriptions to its resources',
    annotations: { audience, priority: 0.2 },
  },
  {
    uri: 'gateway://diagnostics/metrics',
    name: 'Gateway metrics',
    description: 'Live instances and time-outs; the gateway publishes no tools of the instances',
    annotations: { audience, priority: 0.2 },
  },
  {
    uri: 'gateway://catalog',
    name: 'Catalog',
    description: 'Adapters, skills and plug-ins for applications; ?query=WORDS searches them',
    annotations: { audience, priority: 0.5 },
  },
])

const templates: readonly Template[] = builtIn([
  {
    uriTemplate: 'gateway://instances{?dcc_type,include_stale,include_dead}',
    name: 'Instances, filtered',
    description: 'Of one kind of application, without stale ones, or with dead ones',
  },
  {
    uriTemplate: 'gateway://instances/{instance_id}',
    name: 'One instance',
    description: 'By its id or by the first digits of it, at least 4, dead ones too',
  },
  {
    uriTemplate: 'gateway://diagnostics/process{?dcc_type}',
    name: 'Gateway process, for one kind of application',
  },
  {
    uriTemplate: 'gateway://catalog{?query}',
    name: 'Catalog, searched',
    description: 'Entries with each of the words in name, application, tags or description',
  },
  {
    uriTemplate: 'gateway://catalog/{name}',
    name: 'One catalog entry',
    description: 'By its exact name',
  },
])

const onePrefix = 'instances/'
const entryPrefix = 'catalog/'

/** What the gateway's process knows of itself. */
export interface GatewaySelf {
  readonly host: string
  readonly port: number
  readonly mcpUrl: string
}

export interface GatewayProducerParts {
  readonly directory: InstanceDirectory
  readonly catalog: Catalog
  readonly self: GatewaySelf
  /** Of the MCP endpoint that serves these resources. */
  activity(): EndpointActivity
}

/** The scheme `gateway://`. */
export class GatewayProducer implements SchemeProducer {
  readonly #parts: GatewayProducerParts
  readonly #known: KnownInstances
  /** Of `#entries`. */
  #lists = new KeptAnswers()
  #entries: readonly InstanceEntry[] = []

  constructor(parts: GatewayProducerParts) {
    this.#parts = parts
    this.#known = new KnownInstances(parts.directory)
  }

  list(): readonly Descriptor[] {
    return descriptors
  }

  templates(): readonly Template[] {
    return templates
  }

  checkParameters(uri: ResourceUri): void {
    if (uri.path === 'instances') parseInstanceQuery(uri)
    const selector = selectorIn(uri.path)
    if (this.#known.idsOf(selector).length > 1) this.#known.idOf(selector, uri.text)
  }

  async read(uri: ResourceUri): Promise<readonly Content[]> {
    const { catalog, directory } = this.#parts
    const { path, text } = uri
    const json = (value: object) => jsonContents(text, JSON.stringify(value))
    switch (path) {
      case 'instances':
        return this.#list(uri)
      case 'diagnostics/process':
        return json(this.#process(textParameter(uri, 'dcc_type')))
      case 'diagnostics/audit':
        return json({ summary: this.#summary() })
      case 'diagnostics/metrics':
        return json({ metrics: this.#metrics() })
    }
    if (path.startsWith(onePrefix)) {
      const id = this.#known.idOf(selectorIn(path), text)
      return json(instanceRow(directory.entries.find(({ record }) => record.instance_id === id)!))
    }
    await catalog.refresh()
    if (path === 'catalog') {
      const entries = catalog.search(textParameter(uri, 'query') ?? '')
      return json({ total: entries.length, problem: catalog.problem, entries })
    }
    const entry = catalog.entries.find(({ name }) => path === entryPrefix + name)
    if (entry === undefined) throw new ResourceNotFound(text)
    return json(entry)
  }

  /** An instance is named by its id, however it is selected. */
  canonical({ path }: ResourceUri): string | undefined {
    const [id, ...others] = this.#known.idsOf(selectorIn(path))
    return id === undefined || others.length > 0 ? undefined : `gateway://${onePrefix}${id}`
  }

  pushes({ path }: ResourceUri): boolean {
    const selector = selectorIn(path)
    if (isUuid(selector) || this.#known.idsOf(selector).length > 0) return true
    return directoryUris.some(uri => uri === `gateway://${path}`)
  }

  complete(variable: string, prefix: string): readonly string[] {
    if (variable !== 'instance_id') return []
    const ids = this.#parts.directory.entries.map(({ record }) => record.instance_id)
    return ids.filter(id => plainId(id).startsWith(plainId(prefix)))
  }

  #process(dccType: string | undefined) {
    const { directory, self } = this.#parts
    const counted = ofType(directory.entries, dccType)
    return {
      gateway: {
        server_version: version,
        own_host: self.host,
        own_port: self.port,
        mcp_url: self.mcpUrl,
        pid: process.pid,
        started_at: toRfc3339(performance.timeOrigin),
      },
      counts: { total: counted.length, ...countByHealth(counted) },
      faults: directory.faults,
    }
  }

  #summary() {
    const { pendingCalls, subscriptions } = this.#parts.activity()
    return { pending_calls: pendingCalls, resource_subscriptions: subscriptions }
  }

  #metrics() {
    const { directory, activity } = this.#parts
    return {
      gateway_local_tools: activity().tools,
      live_instances: countByHealth(directory.entries).live,
      backend_timeout_ms: probeTimeoutMs,
      stale_after_ms: instanceStaleMs,
      // From its last heartbeat, at most.
      dead_shown_ms: reapAfterMs + reapEveryMs,
      publishes_backend_tools: false,
    }
  }

  /** Many clients read the same list after each change: it is serialised once. */
  #list(uri: ResourceUri): readonly Content[] {
    const { entries } = this.#parts.directory
    const query = parseInstanceQuery(uri)
    if (entries !== this.#entries) this.#lists = new KeptAnswers()
    this.#entries = entries
    return this.#lists.get(0, uri.text, () => JSON.stringify(listInstances(entries, query)))
  }
}

/** What selects one instance; empty: the path is of something else. */
function selectorIn(path: string): string {
  return path.startsWith(onePrefix) ? path.slice(onePrefix.length) : ''
}
