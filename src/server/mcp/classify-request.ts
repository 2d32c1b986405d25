import type { IncomingHttpHeaders } from 'node:http'
import { isJsonObject } from '../../lib/util/json.ts'
import type { RequestId, RpcError } from '../../lib/mcp/json-rpc.ts'
import { claimOf, metaKeys } from '../../lib/mcp/request-metadata.ts'
import { rpcCodes } from './errors.ts'
import { type Inbound, isBatch, type NotificationMessage, type RequestMessage } from './json-rpc.ts'
import {
  isStatelessRevision,
  metaProblem,
  missingMeta,
  namesStatelessRevision,
  statelessRpcCodes,
} from './stateless/meta.ts'

/** Which transport serves a POST. */
type Classified =
  | { readonly transport: 'session' }
  | { readonly transport: 'stateless'; readonly message: RequestMessage | NotificationMessage }
  /** It claims both transports, or half of one: 400. */
  | { readonly transport: 'none'; readonly id: RequestId | undefined; readonly error: RpcError }

const session: Classified = Object.freeze({ transport: 'session' })

/**
 * The body decides: a message whose `_meta` names a revision is for the stateless transport. The version
 * header only decides for what has no place for that, and must not promise what the body lacks.
 */
export function classify(headers: IncomingHttpHeaders, inbound: Inbound): Classified {
  const named = namesStatelessRevision(headers)
  if (isBatch(inbound)) {
    return named || inbound.some(claims)
      ? refuse(undefined, rpcCodes.invalidRequest, 'this protocol version has no batches')
      : session
  }
  switch (inbound.kind) {
    case 'request':
      return classifyRequest(inbound, named)
    case 'notification':
      return named || claimOf(inbound.params) !== null
        ? { transport: 'stateless', message: inbound }
        : session
    case 'response':
      return session
    case 'invalid':
      return named ? refuse(inbound.id ?? undefined, inbound.code, inbound.problem) : session
  }
}

function classifyRequest(message: RequestMessage, named: boolean): Classified {
  const claim = claimOf(message.params)
  if (message.method === 'initialize' && !isWhole(claim)) {
    // The handshake of the session transport.
    if (!named) return session
    const text = 'initialize belongs to versions before the one that MCP-Protocol-Version names'
    return refuse(message.id, statelessRpcCodes.headerMismatch, text)
  }
  if (claim !== null) return { transport: 'stateless', message }
  return named ? { transport: 'none', id: message.id, error: missingMeta(message.params) } : session
}

function isWhole(claim: ReturnType<typeof claimOf>): boolean {
  if (claim === null || metaProblem(claim) !== null) return false
  return isStatelessRevision(String(claim[metaKeys.protocolVersion]))
}

function claims(element: unknown): boolean {
  return isJsonObject(element) && isJsonObject(element.params) && claimOf(element.params) !== null
}

function refuse(id: RequestId | undefined, code: number, message: string): Classified {
  return { transport: 'none', id, error: { code, message } }
}
