import type { Descriptor } from './producer.ts'

export interface Completion {
  readonly values: readonly string[]
  /** Present when more values are known. */
  readonly hasMore?: true
}

/** The protocol allows no more in one answer. */
const maxCompletions = 100

export function completion(found: readonly string[]): Completion {
  const values = found.slice(0, maxCompletions)
  return values.length < found.length ? { values, hasMore: true } : { values }
}

/** What stands in the place of the variable in listed URIs that begin as the template does. */
export function listedValues(
  listed: readonly Descriptor[],
  uriTemplate: string,
  variable: string,
  typed: string,
  resolved: ReadonlyMap<string, string>,
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
