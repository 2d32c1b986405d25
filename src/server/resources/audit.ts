import type { Limits } from '../options.ts'
import type { AuditLog } from './audit-log.ts'
import { type BuiltIn, freezeAll } from './built-in.ts'
import { ResourceNotFound } from './errors.ts'
import { KeptAnswers } from './kept-answers.ts'
import type { Content, Descriptor, Template } from './producer.ts'
import { limitParameter } from './query-parameters.ts'
import type { ResourceUri } from './resource-uri.ts'

export const auditRecentUri = 'audit://recent'

type AuditLimits = Pick<
  Limits,
  'defaultAuditLimit' | 'maxAuditLimit' | 'maxKeptAnswers' | 'maxKeptAnswerBytes'
>

/** `audit://recent`: the end of the wired audit log. */
export class AuditProducer implements BuiltIn {
  readonly #limits: AuditLimits
  readonly #kept: KeptAnswers
  readonly #descriptors: readonly Descriptor[]
  readonly #templates: readonly Template[]
  #log: AuditLog | undefined

  constructor(limits: AuditLimits) {
    this.#limits = limits
    this.#kept = new KeptAnswers(limits)
    const { defaultAuditLimit: usual, maxAuditLimit: most } = limits
    this.#descriptors = freezeAll([
      {
        uri: auditRecentUri,
        name: 'Recent actions',
        description: `The last ${usual} actions in the application; ?limit=N for up to ${most}`,
        mimeType: 'application/json',
      },
    ])
    this.#templates = freezeAll([
      {
        uriTemplate: 'audit://recent{?limit}',
        name: 'Recent actions, as many as asked for',
        description: `The last \`limit\` actions in the application, at most ${most}`,
        mimeType: 'application/json',
      },
    ])
  }

  get log(): AuditLog | undefined {
    return this.#log
  }

  wire(log: AuditLog): void {
    this.#log = log
  }

  list(): readonly Descriptor[] {
    return this.#descriptors
  }

  templates(): readonly Template[] {
    return this.#templates
  }

  complete(variable: string, prefix: string): readonly string[] {
    if (variable !== 'limit') return []
    const values = [this.#limits.defaultAuditLimit, this.#limits.maxAuditLimit]
    return values.map(String).filter(text => text.startsWith(prefix))
  }

  read(uri: ResourceUri): readonly Content[] {
    if (uri.path !== 'recent') throw new ResourceNotFound(uri.text)
    const limit = limitParameter(uri, this.#limits.defaultAuditLimit, this.#limits.maxAuditLimit)
    return this.#kept.get(this.#log?.lastId ?? 0, uri.text, () => {
      const entries = this.#log?.recent(limit) ?? []
      return JSON.stringify({ limit, count: entries.length, entries })
    })
  }
}
