import type { AuditLog } from './audit-log.ts'
import { type SchemeProducer, builtIn } from './scheme-producer.ts'
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

const about = { mimeType: 'application/json', annotations }

const descriptors: readonly Descriptor[] = builtIn([
  {
    uri: auditRecentUri,
    name: 'Recent actions',
    description: `The last ${defaultAuditLimit} actions in the application; ?limit=N for up to ${maxAuditLimit}`,
    ...about,
  },
])

const templates: readonly Template[] = builtIn([
  {
    uriTemplate: `${auditRecentUri}{?limit}`,
    name: 'Recent actions, as many as asked for',
    description: `The last \`limit\` actions in the application, at most ${maxAuditLimit}`,
    ...about,
  },
])

/** `audit://recent`: the end of the wired audit log. */
export class AuditProducer implements SchemeProducer {
  readonly #kept = new KeptAnswers()
  /** Wired before the server starts, if at all. */
  log: AuditLog | undefined

  list(): readonly Descriptor[] {
    return descriptors
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
    limitOf(uri)
  }

  read(uri: ResourceUri): readonly Content[] {
    if (uri.path !== 'recent') throw new ResourceNotFound(uri.text)
    const limit = limitOf(uri)
    return this.#kept.get(this.log?.lastId ?? 0, uri.text, () => {
      const entries = this.log?.recent(limit) ?? []
      return JSON.stringify({ limit, count: entries.length, entries })
    })
  }
}

function limitOf(uri: ResourceUri): number {
  return limitParameter(uri, defaultAuditLimit, maxAuditLimit)
}
