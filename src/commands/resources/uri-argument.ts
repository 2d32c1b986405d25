import { cleanText, nearest } from '../../lib/util/text.ts'
import { ServiceError, usage } from '../../lib/util/errors.ts'
import { listAll } from '../../lib/mcp/client/resources.ts'
import type { McpSession } from '../../lib/mcp/client/context.ts'
import type { Client } from './client.ts'

/** Throws `usage_invalid` for an invalid URI. */
export function checkUri(uri: string): void {
  if (/^[a-z][a-z0-9+.-]*:/i.test(uri)) return
  throw usage(
    `${uri} is not a URI`,
    'example: scene://current; service-cli resources list shows all',
  )
}

/** Adds the nearest known URI as the hint of a not-found error, unless the server sent a hint. */
export async function withNearest(
  error: unknown,
  uri: string,
  session: McpSession,
  { limits }: Client,
): Promise<unknown> {
  if (!(error instanceof ServiceError) || error.code !== 'resource_not_found') return error
  if (error.hint !== undefined) return error
  const { signal } = new AbortController()
  const known = await listAll(session, 'resources', limits, signal).catch(() => null)
  const uris = known?.entries.map(entry => entry.uri) ?? []
  const meant = nearestUri(uri, uris)
  const hint =
    meant === undefined
      ? 'service-cli resources list shows all resources'
      : `did you mean ${cleanText(meant, 300)}?`
  return new ServiceError(error.code, error.message, { cause: error, hint })
}

/**
 * Finds a URI by its start (as copied from a narrow terminal), or the one with the fewest typos.
 */
function nearestUri(uri: string, known: string[]): string | undefined {
  const begun = uri.length >= 6 ? known.filter(each => each.startsWith(uri)) : []
  return begun.length === 1 ? begun[0] : nearest(uri, known)
}
