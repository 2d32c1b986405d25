import { ServiceError } from '../../../lib/util/errors.ts'
import { nearest } from '../../../lib/util/text.ts'
import type { ServedResources } from '../../resources/schemes.ts'

/**
 * Rejects with the error, and where nothing is at `uri` with the listed URI that is closest to it.
 * Only the first page of the listing is looked through.
 */
export async function rejectNamingMeant(
  registry: ServedResources,
  uri: string,
  error: unknown,
): Promise<never> {
  const isMissing = error instanceof ServiceError && error.code === 'resource_not_found'
  if (!isMissing || error.hint !== undefined) throw error
  const { descriptors } = await registry.page(undefined)
  const known = descriptors.map(descriptor => descriptor.uri)
  const meant = nearest(uri.replace(/\?.*$/s, ''), known)
  if (meant === undefined) throw error
  const hint = `did you mean ${meant}?`
  throw new ServiceError(error.code, error.message, { hint, cause: error })
}
