import type { IncomingHttpHeaders } from 'node:http'
import { rpcCodes } from './errors.ts'
import { errorMessage, type JsonText } from './json-text.ts'
import { namesStatelessRevision } from './stateless/meta.ts'

/**
 * The body of an answer to what was refused before any message of it was read. What is not read
 * has no id: JSON-RPC then wants null, 2026-07-28 none at all ("basic", error responses), and
 * none of the codes from −32000 to −32019 either.
 */
export function refusalMessage(
  headers: IncomingHttpHeaders,
  status: number,
  message: string,
): JsonText {
  if (!namesStatelessRevision(headers)) {
    return errorMessage(null, { code: rpcCodes.refused, message })
  }
  const code = status < 500 ? rpcCodes.invalidRequest : rpcCodes.internalError
  return errorMessage(undefined, { code, message })
}
