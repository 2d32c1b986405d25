import type { AuditLog } from './audit-log.ts'
import { type SchemeProducer, builtIn } from './scheme-producer.ts'
import { ResourceNotFound } from './errors.ts'
import { KeptAnswers } from './kept-answers.ts'
import type { Descriptor, Template } from './producer.ts'
import { limitParameter } from './query-parameters.ts'
import type { ResourceUri } from './resource-uri.ts'

/** Entries when the reader names no `limit`. */
const defaultAuditLimit = 50

/** Entries at most: a greater `limit` counts as this. */
const maxAuditLimit = 500

export const auditRecentUri = 'audit://recent'

const annotations = { audience: ['user', 'assistant'], priority: 0.5 } as const

const descriptors: readonly Descriptor[] = builtIn([
  {
    uri: auditRecentUri,
    name: 'Recent actions',
    description: `The last ${defaultAuditLimit} actions in the application; ?limit=N for up to ${maxAuditLimit}`,
    annotations,
  },
])

const templates: readonly Template[] = builtIn([
  {
    uriTemplate: `${auditRecentUri}{?limit}`,
    name: 'Recent actions, as many as asked for',
    description: `The last \`limit\` actions in the application, at most ${maxAuditLimit}`,
    annotations,
  },
])

/** `audit://recent`: the end of the audit log that is wired before the server starts, if at all. */
export function auditProducer(wired: { log?: AuditLog }): SchemeProducer {
  const kept = new KeptAnswers()
  return {
    list: () => descriptors,
    templates: () => templates,
    checkParameters: limitOf,
    read(uri) {
      if (uri.path !== 'recent') throw new ResourceNotFound(uri.text)
      const limit = limitOf(uri)
      return kept.get(wired.log?.lastId ?? 0, uri.text, () => {
        const entries = wired.log?.recent(limit) ?? []
        return JSON.stringify({ limit, count: entries.length, entries })
      })
    },
  }
}

function limitOf(uri: ResourceUri): number {
  return limitParameter(uri, defaultAuditLimit, maxAuditLimit)
}
