import { type Result, fail, ok } from '../../lib/util/result.ts'

/** Characters of a resource URI. */
const maxUriChars = 2048

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

const parts =
  /^(?<scheme>[a-z][a-z0-9+.-]*):(?<slashes>\/\/)?(?<path>[^?#]*)(?:\?(?<query>[^#]*))?(?<fragment>#.*)?$/i
/** The characters of RFC 3986. */
const characters = /^(?:[\w\-.~!$&'()*+,;=:@/?#[\]]|%[0-9A-Fa-f]{2})*$/

/** The failure is a short text for the reader; it never repeats the URI. */
export function parseResourceUri(text: unknown): Result<ResourceUri, string> {
  if (typeof text !== 'string') return fail('uri must be a string')
  if (text.length > maxUriChars) return fail(`uri must have at most ${maxUriChars} characters`)
  const found = characters.test(text) ? parts.exec(text)?.groups : undefined
  if (found === undefined) {
    return fail('uri is malformed: expected scheme://path as in RFC 3986, other characters escaped')
  }
  const { scheme = '', slashes, path = '', query = '', fragment } = found
  const isPlain = slashes !== undefined && fragment === undefined
  const parameters = query.split('&').filter(part => part !== '')
  try {
    const values = new Map(parameters.map(parseParameter))
    if (values.size < parameters.length) {
      return fail('uri is malformed: a query parameter is repeated')
    }
    const decoded = decodeURIComponent(path)
    return ok({ text, scheme: scheme.toLowerCase(), path: isPlain ? decoded : '', query: values })
  } catch {
    return fail('uri is malformed: an escape is not UTF-8')
  }
}

const instanceForm = /^instance:\/\/([^/?#]+)\/([a-z][a-z0-9+.-]*)\/([^#]*)$/i

/**
 * `instance://<id>/<scheme>/<rest>`, taken apart; null for a URI of another form. `selector` is the
 * id of the instance or the beginning of it, `inner` how the instance itself calls the resource.
 */
export function parseInstanceUri(text: string) {
  const [, selector, scheme, rest] = instanceForm.exec(text) ?? []
  if (selector === undefined || scheme === undefined || rest === undefined) return null
  const lower = scheme.toLowerCase()
  return { selector, scheme: lower, inner: `${lower}://${rest}` }
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

function parseParameter(text: string): [name: string, value: string] {
  const [name = '', value = ''] = text.split(/=(.*)/, 2)
  return [decodeURIComponent(name), decodeURIComponent(value)]
}
