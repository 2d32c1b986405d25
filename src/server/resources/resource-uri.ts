import { type Result, fail, ok } from '../../lib/util/result.ts'

/** Characters of a resource URI. */
export const maxUriChars = 2048

/** Whether it is a valid scheme of resource URIs, without `:`, in lower case. */
export function isScheme(value: unknown): value is string {
  return typeof value === 'string' && /^[a-z][a-z0-9+.-]{0,63}$/.test(value)
}

/** A URI that passed the syntax of RFC 3986, taken apart. */
export interface ResourceUri {
  /** As it was asked for: contents echo it. */
  readonly text: string
  /** Lower case. */
  readonly scheme: string
  /**
   * What follows `scheme://`, percent-decoded once. Empty for a URI without `//` or with a fragment:
   * built-in resources have no such URI.
   */
  readonly path: string
  /** Percent-decoded once. */
  readonly query: ReadonlyMap<string, string>
}

const pchar = "(?:[A-Za-z0-9\\-._~!$&'()*+,;=:@]|%[0-9A-Fa-f]{2})"
const ipLiteral = "\\[[A-Za-z0-9\\-._~!$&'()*+,;=:]+\\](?::\\d*)?"
const syntax = new RegExp(
  '^(?<scheme>[A-Za-z][A-Za-z0-9+.-]*):' +
    `(?:(?<slashes>//)(?<host>(?:${pchar}*@)?${ipLiteral}|${pchar}*)(?<rest>(?:/${pchar}*)*)` +
    `|(?<opaque>/?(?:${pchar}+(?:/${pchar}*)*)?))` +
    `(?:\\?(?<query>(?:${pchar}|[/?])*))?` +
    `(?<fragment>#(?:${pchar}|[/?])*)?$`,
)

/** The failure is a short text for the reader; it never repeats the URI. */
export function parseResourceUri(text: unknown, maxChars: number): Result<ResourceUri, string> {
  if (text === undefined) return fail('uri is missing')
  if (typeof text !== 'string') return fail('uri must be a string')
  if (text.length > maxChars) return fail(`uri must have at most ${maxChars} characters`)
  const parts = syntax.exec(text)?.groups
  if (parts === undefined) {
    return fail('uri is malformed: expected scheme://path as in RFC 3986, other characters escaped')
  }
  const path = decode(parts['opaque'] ?? `${parts['host'] ?? ''}${parts['rest'] ?? ''}`)
  const query = parseQuery(parts['query'] ?? '')
  if (path === null || query === 'escape') return fail('uri is malformed: an escape is not UTF-8')
  if (query === 'repeated') return fail('uri is malformed: a query parameter is repeated')
  const isPlain = parts['slashes'] !== undefined && parts['fragment'] === undefined
  const scheme = (parts['scheme'] ?? '').toLowerCase()
  return ok({ text, scheme, path: isPlain ? path : '', query })
}

/**
 * The one spelling of equivalent URIs (RFC 3986, 6.2.2): scheme in lower case, unreserved
 * characters unescaped, escapes in upper case. Subscriptions and updates meet on it.
 */
export function normaliseUri(text: string): string {
  const colon = text.indexOf(':')
  const rest = text.slice(colon).replace(/%[0-9A-Fa-f]{2}/g, escape => {
    const char = String.fromCharCode(Number.parseInt(escape.slice(1), 16))
    return /[A-Za-z0-9\-._~]/.test(char) ? char : escape.toUpperCase()
  })
  return text.slice(0, colon).toLowerCase() + rest
}

function parseQuery(text: string): ReadonlyMap<string, string> | 'escape' | 'repeated' {
  const query = new Map<string, string>()
  for (const part of text.split('&')) {
    if (part === '') continue
    const equals = part.indexOf('=')
    const name = decode(equals === -1 ? part : part.slice(0, equals))
    const value = decode(equals === -1 ? '' : part.slice(equals + 1))
    if (name === null || value === null) return 'escape'
    if (query.has(name)) return 'repeated'
    query.set(name, value)
  }
  return query
}

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}
