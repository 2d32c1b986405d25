import type { CompletionContext, CompletionValues, Descriptor } from './producer.ts'

export interface Completion {
  readonly values: readonly string[]
  /** Absent when the total is unknown. */
  readonly total?: number
  readonly hasMore: boolean
}

/** The protocol allows no more in one answer. */
export const maxCompletions = 100

export function completion(found: CompletionValues): Completion {
  const { values, total, hasMore } =
    'length' in found ? { values: found, total: found.length, hasMore: false } : found
  return {
    values: values.slice(0, maxCompletions),
    ...(total === undefined ? {} : { total }),
    hasMore: hasMore === true || (total ?? values.length) > maxCompletions,
  }
}

/** Numbers worth suggesting for a `limit`: the usual one first. */
export function suggestedLimits(usual: number, most: number): readonly string[] {
  const values = new Set([usual, 10, 100, most].filter(count => count <= most))
  return Array.from(values, String)
}

/** What stands in the place of the variable in listed URIs that begin as the template does. */
export function listedValues(
  listed: readonly Descriptor[],
  variable: string,
  typed: string,
  { uriTemplate, resolved }: CompletionContext,
): readonly string[] {
  const [before = ''] = uriTemplate.split(`{${variable}}`)
  const start = before.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(resolved.get(name) ?? ''),
  )
  const values = listed
    .filter(({ uri }) => uri.startsWith(start))
    .map(({ uri }) => decodeURIComponent(uri.slice(start.length).split(/[/?#]/, 1).join()))
    .filter(value => value !== '' && value.startsWith(typed))
  return [...new Set(values)]
}
