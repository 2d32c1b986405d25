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
  // What may be added as a query says nothing about the URI before it.
  const parts = uriTemplate.replace(/\{[?&][^{}]*\}$/, '').split(/\{([^{}]*)\}/)
  const names = parts.filter((_, at) => at % 2 === 1)
  const isSimple = (name: string, at: number) =>
    /^[\w.]+$/.test(name) && (at === 0 || parts[2 * at] !== '')
  if (!names.every(isSimple)) return []
  // One segment each, never more: simple expansion (RFC 6570, 3.2.2) escapes what ends it.
  const forms = parts.map((part, at) => (at % 2 === 1 ? '([^/?#[\\]]+?)' : RegExp.escape(part)))
  const form = new RegExp(`^${forms.join('')}$`)
  const values = new Set<string>()
  for (const uri of uris) {
    const found = form.exec(uri)?.slice(1).map(decoded) ?? []
    const valueOf = (name: string) => found[names.indexOf(name)]
    const value = valueOf(variable)
    const chosen = (name: string) => (name === variable ? undefined : resolved.get(name))
    const fits = names.every((name, at) => found[at] === (chosen(name) ?? valueOf(name)))
    if (fits && value !== undefined && !found.includes(undefined)) values.add(value)
  }
  return [...values]
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
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
