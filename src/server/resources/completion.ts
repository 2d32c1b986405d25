import type { MaybePromise } from './maybe-promise.ts'
import type { CompletionContext, CompletionValues, Template } from './producer.ts'

export interface Completion {
  readonly values: readonly string[]
  /** Absent when nobody counted them. */
  readonly total?: number
  readonly hasMore: boolean
}

/** A template with whoever knows the values of its variables. */
export interface OwnedTemplate {
  readonly template: Template
  complete(
    variable: string,
    prefix: string,
    context: CompletionContext,
  ): MaybePromise<CompletionValues>
}

/** The protocol allows no more in one answer. */
export const maxCompletions = 100

export function completion(found: CompletionValues): Completion {
  const { values, total, hasMore } = 'length' in found ? allOf(found) : found
  return {
    values: values.slice(0, maxCompletions),
    ...(total === undefined ? {} : { total }),
    hasMore: hasMore === true || (total ?? values.length) > maxCompletions,
  }
}

function allOf(values: readonly string[]) {
  return { values, total: values.length, hasMore: false }
}

/** Values that start with what was typed, then those that have it anywhere, whatever the case. */
export function rankedMatches(values: readonly string[], typed: string): readonly string[] {
  const wanted = typed.toLowerCase()
  const starting = values.filter(value => value.startsWith(typed))
  const having = values.filter(
    value => !value.startsWith(typed) && value.toLowerCase().includes(wanted),
  )
  return [...starting, ...having]
}

/** Numbers worth suggesting for a `limit`: the usual one first. */
export function suggestedLimits(usual: number, most: number): readonly string[] {
  const values = new Set([usual, 10, 100, most].filter(count => count <= most))
  return Array.from(values, String)
}

/** The names between the braces of an RFC 6570 template. */
export function templateVariables(uriTemplate: string): string[] {
  return Array.from(uriTemplate.matchAll(/\{[+#./;?&]?([^{}]*)\}/g)).flatMap(([, list = '']) =>
    list.split(',').map(name => name.replace(/(?:\*|:\d+)$/, '')),
  )
}
