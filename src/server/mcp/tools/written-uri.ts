import { ServiceError } from '../../../lib/util/errors.ts'

/**
 * The URI that a model wrote, with what a URI must not have (spaces, umlauts, brackets) escaped.
 * Null: it is a plain name.
 */
export function writtenUri(text: string): string | null {
  if (!text.includes('://')) return null
  const foreign = /%(?![0-9A-Fa-f]{2})|[^\x21-\x7e]|["#<>[\\\]^`{|}]/gu
  return text.toWellFormed().replace(foreign, found => encodeURIComponent(found))
}

/** The URI with those of the parameters that are given; a list as a JSON array. */
export function withQuery(uri: string, parameters: object): string {
  const query = Object.entries(parameters).flatMap(([name, value]: [string, unknown]) => {
    if (value === undefined) return []
    const text = Array.isArray(value) ? JSON.stringify(value) : String(value)
    return [`${name}=${encodeURIComponent(text.toWellFormed())}`]
  })
  return query.length === 0 ? uri : `${uri}?${query.join('&')}`
}

export function isNotFound(error: unknown): error is ServiceError {
  return error instanceof ServiceError && error.code === 'resource_not_found'
}
