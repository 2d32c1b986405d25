import { ServiceError } from '../../../lib/util/errors.ts'
import { nearest } from '../../../lib/util/text.ts'
import type { ServedResources } from '../../resources/served-resources.ts'

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

export function isMissing(error: unknown): error is ServiceError {
  return error instanceof ServiceError && error.code === 'resource_not_found'
}

/**
 * The error, and where nothing is at `uri` with the listed URI that is closest to it. Only the
 * first page of the listing is looked through.
 */
export async function withSuggestedUri(
  registry: ServedResources,
  uri: string,
  error: unknown,
): Promise<unknown> {
  if (!isMissing(error) || error.hint !== undefined) return error
  const { descriptors } = await registry.page(undefined)
  const known = descriptors.map(descriptor => descriptor.uri)
  const suggested = nearest(uri.replace(/\?.*$/s, ''), known)
  if (suggested === undefined) return error
  const hint = `did you mean ${suggested}?`
  return new ServiceError(error.code, error.message, { hint, cause: error })
}
