import type { IncomingHttpHeaders } from 'node:http'
import { rpcCodes } from './errors.ts'
import { errorMessage, type JsonText } from './json-text.ts'
import { namesStatelessRevision } from './stateless.ts'

/**
 * The body of a refusal that came before any message was read, so that its id is unknown: JSON-RPC
 * then wants null. Revision 2026-07-28 wants no id and no code from −32000 to −32019 ("basic").
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

/** The same as JSON text. */
export function refusalText(...asked: Parameters<typeof refusalMessage>): string {
  return refusalMessage(...asked).parts.join('')
}
