import { shownUrl } from '../../lib/mcp/bridge/context.ts'
import type { McpServer } from '../../lib/mcp/client/call.ts'
import { listResources } from '../../lib/mcp/client/resources.ts'
import { ServiceError, usage } from '../../lib/util/errors.ts'
import { cleanText, nearest } from '../../lib/util/text.ts'

/** Throws `usage_invalid` for an invalid URI. */
export function checkUri(uri: string): void {
  if (/^[a-z][a-z0-9+.-]*:/i.test(uri)) return
  const hint = 'example: scene://current; service-cli resources list shows all'
  throw usage(`${uri} is not a URI`, hint)
}

/** Adds the nearest known URI as the hint of a not-found error, unless the server sent a hint. */
export async function withNearest(error: unknown, uri: string, server: McpServer) {
  if (!(error instanceof ServiceError) || error.code !== 'resource_not_found') return error
  if (error.hint !== undefined) return error
  const known = await listResources(server, 'resources', () => {}).catch(() => [])
  const uris = known.map(entry => entry.uri)
  // The start of a URI, as copied from a narrow terminal, or the one with the fewest typos.
  const begun = uri.length >= 6 ? uris.filter(each => each.startsWith(uri)) : []
  const meant = begun.length === 1 ? begun[0] : nearest(uri, uris)
  const hint =
    meant === undefined
      ? `service-cli resources list --url ${shownUrl(server.url)} shows all resources`
      : `did you mean ${cleanText(meant, 300)}?`
  return new ServiceError(error.code, error.message, { cause: error, hint })
}
