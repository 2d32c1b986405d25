import type { MaybePromise } from './maybe-promise.ts'
import type { CompletionContext, CompletionValues, Descriptor, Template } from './producer.ts'

export interface Completion {
  readonly values: readonly string[]
  /** Absent when the total is unknown. */
  readonly total?: number
  readonly hasMore: boolean
}

/** A template and the producer that knows the values of its variables. */
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

/** Values that start with the typed text, then those that contain it, compared without case. */
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

/** A template taken apart: literal text, and the names of simple variables between it. */
type Part = { readonly literal: string } | { readonly variable: string }

/**
 * The values that a variable of a URI template has in the URIs that match the template, in their
 * order, each once; those whose other variables differ from what is resolved are left out.
 *
 * Only for templates whose variables stand alone, each up to the next literal text
 * (`app://{kind}/{name}`). The others, and a query (`{?limit}`), give nothing: a URI does not tell
 * their values.
 */
export function templateValues(
  { uriTemplate, resolved }: CompletionContext,
  variable: string,
  uris: Iterable<string>,
): string[] {
  const parts = parseTemplate(uriTemplate)
  if (parts === null) return []
  const values = new Set<string>()
  for (const uri of uris) {
    const found = matchUri(parts, uri)
    const value = found?.get(variable)
    if (value === undefined) continue
    const fits = Array.from(resolved).every(([name, chosen]) => {
      return name === variable || (found?.get(name) ?? chosen) === chosen
    })
    if (fits) values.add(value)
  }
  return [...values]
}

/** The same for what is listed, and only what starts with `prefix`. */
export function listedValues(
  listed: readonly Descriptor[],
  variable: string,
  prefix: string,
  context: CompletionContext,
): readonly string[] {
  const uris = listed.map(({ uri }) => uri)
  return templateValues(context, variable, uris).filter(value => value.startsWith(prefix))
}

function parseTemplate(uriTemplate: string): readonly Part[] | null {
  const parts: Part[] = []
  // What may be added as a query says nothing about the URI before it.
  const path = uriTemplate.replace(/\{[?&][^{}]*\}$/, '')
  for (const [, literal, variable] of path.matchAll(/([^{}]+)|\{([^{}]*)\}/g)) {
    if (literal !== undefined) {
      parts.push({ literal })
      continue
    }
    const before = parts.at(-1)
    if (before !== undefined && 'variable' in before) return null
    if (variable === undefined || !/^[A-Za-z0-9_.]+$/.test(variable)) return null
    parts.push({ variable })
  }
  return parts
}

/** Goes through the URI once: no pattern makes it slow. */
function matchUri(parts: readonly Part[], uri: string): ReadonlyMap<string, string> | null {
  const found = new Map<string, string>()
  let at = 0
  for (const [index, part] of parts.entries()) {
    if ('literal' in part) {
      if (!uri.startsWith(part.literal, at)) return null
      at += part.literal.length
      continue
    }
    const end = endOfValue(uri, at, parts.slice(index + 1))
    const value = end > at ? expandedValue(uri.slice(at, end)) : null
    if (value === null || (found.get(part.variable) ?? value) !== value) return null
    found.set(part.variable, value)
    at = end
  }
  return at === uri.length ? found : null
}

/** Where the literal begins that follows; -1 when it does not occur. */
function endOfValue(uri: string, at: number, [next, ...more]: Part[]): number {
  if (next === undefined || !('literal' in next)) return uri.length
  if (more.length > 0) return uri.indexOf(next.literal, at)
  return uri.endsWith(next.literal) ? uri.length - next.literal.length : -1
}

/** One segment of a URI, never more: simple expansion (RFC 6570, 3.2.2) escapes what ends it. */
function expandedValue(text: string): string | null {
  if (/[/?#[\]]/.test(text)) return null
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}
