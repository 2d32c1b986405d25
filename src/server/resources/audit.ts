import type { AuditLog } from './audit-log.ts'
import { type SchemeProducer, changedAt, builtIn } from './scheme-producer.ts'
import { suggestedLimits } from './completion.ts'
import { ResourceNotFound } from './errors.ts'
import { KeptAnswers } from './kept-answers.ts'
import type { Content, Descriptor, Template } from './producer.ts'
import { limitParameter } from './query-parameters.ts'
import type { ResourceUri } from './resource-uri.ts'

/** Entries when the reader names no `limit`. */
const defaultAuditLimit = 50

/** Entries at most: a greater `limit` counts as this. */
const maxAuditLimit = 500

export const auditRecentUri = 'audit://recent'

const annotations = { audience: ['user', 'assistant'], priority: 0.5 } as const

const templates: readonly Template[] = builtIn([
  {
    uriTemplate: 'audit://recent{?limit}',
    name: 'Recent actions, as many as asked for',
    description: `The last \`limit\` actions in the application, at most ${maxAuditLimit}`,
    annotations,
  },
])

/** `audit://recent`: the end of the wired audit log. */
export class AuditProducer implements SchemeProducer {
  readonly #kept = new KeptAnswers()
  #log: AuditLog | undefined
  #listedId = -1
  #descriptors: readonly Descriptor[] = []

  get log(): AuditLog | undefined {
    return this.#log
  }

  wire(log: AuditLog): void {
    this.#log = log
  }

  /** Made when asked for after a record, so that recording costs nothing here. */
  list(): readonly Descriptor[] {
    const { lastId = 0, lastRecordedMs = null } = this.#log ?? {}
    if (lastId !== this.#listedId) {
      this.#descriptors = describe(lastRecordedMs)
      this.#listedId = lastId
    }
    return this.#descriptors
  }

  templates(): readonly Template[] {
    return templates
  }

  complete(variable: string, prefix: string): readonly string[] {
    if (variable !== 'limit') return []
    const values = suggestedLimits(defaultAuditLimit, maxAuditLimit)
    return values.filter(text => text.startsWith(prefix))
  }

  checkParameters(uri: ResourceUri): void {
    this.#limitOf(uri)
  }

  read(uri: ResourceUri): readonly Content[] {
    if (uri.path !== 'recent') throw new ResourceNotFound(uri.text)
    const limit = this.#limitOf(uri)
    return this.#kept.get(this.#log?.lastId ?? 0, uri.text, () => {
      const entries = this.#log?.recent(limit) ?? []
      return JSON.stringify({ limit, count: entries.length, entries })
    })
  }

  #limitOf(uri: ResourceUri): number {
    return limitParameter(uri, defaultAuditLimit, maxAuditLimit)
  }
}

function describe(recordedMs: number | null): readonly Descriptor[] {
  return builtIn([
    {
      uri: auditRecentUri,
      name: 'Recent actions',
      description: `The last ${defaultAuditLimit} actions in the application; ?limit=N for up to ${maxAuditLimit}`,
      annotations: { ...annotations, ...changedAt(recordedMs) },
    },
  ])
}
