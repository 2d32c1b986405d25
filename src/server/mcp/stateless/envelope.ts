import type { IncomingHttpHeaders } from 'node:http'
import type { JsonObject } from '../../../lib/util/json.ts'
import {
  claimOf,
  decodeHeaderValue,
  metaKeys,
  namedMember,
} from '../../../lib/mcp/request-metadata.ts'
import { fail, ok, type Result } from '../../../lib/util/result.ts'
import type { RpcError } from '../../../lib/mcp/json-rpc.ts'
import type { NotificationMessage, RequestMessage } from '../json-rpc.ts'
import { metaProblem, missingMeta, statelessRevisions, statelessRpcCodes } from './meta.ts'

/** Why a message is not served; every failure is a 400. */
type EnvelopeCheck = Result<null, RpcError>

const accepted = ok(null)
const maxEchoedChars = 100

/**
 * What every request must bring ("basic", `_meta`; "Streamable HTTP", "Request Metadata"): its
 * revision and capabilities in the body, and headers that say the same as the body, because proxies
 * go by the headers.
 */
export function checkRequest(
  headers: IncomingHttpHeaders,
  { method, params }: Pick<RequestMessage, 'method' | 'params'>,
): EnvelopeCheck {
  const meta = claimOf(params)
  if (meta === null) return fail(missingMeta(params))
  const problem = metaProblem(meta)
  if (problem !== null) return fail(problem)
  const disagreement = checkAgreement(headers, meta, method)
  if (disagreement !== null) return disagreement
  if (headers['mcp-protocol-version'] === undefined) return missing('MCP-Protocol-Version')
  if (headers['mcp-method'] === undefined) return missing('Mcp-Method')
  return checkName(headers['mcp-name'], method, params)
}

/** A notification needs neither `_meta` nor headers; what it brings must agree. */
export function checkNotification(
  headers: IncomingHttpHeaders,
  { method, params }: Pick<NotificationMessage, 'method' | 'params'>,
): EnvelopeCheck {
  const meta = claimOf(params)
  if (meta !== null && typeof meta[metaKeys.protocolVersion] !== 'string') {
    return fail(metaProblem(meta) ?? missingMeta(params))
  }
  return checkAgreement(headers, meta, method) ?? accepted
}

/** Null when the headers that are there say what the body says, and the revision is served. */
function checkAgreement(
  headers: IncomingHttpHeaders,
  meta: JsonObject | null,
  method: string,
): EnvelopeCheck | null {
  const { 'mcp-protocol-version': named, 'mcp-method': header } = headers
  const version = String(meta === null ? named : meta[metaKeys.protocolVersion])
  if (named !== undefined && named !== version) {
    return mismatch('MCP-Protocol-Version', `params._meta["${metaKeys.protocolVersion}"]`)
  }
  if (header !== undefined && header !== method) return mismatch('Mcp-Method', 'method')
  if (statelessRevisions.includes(version)) return null
  const supported = statelessRevisions
  const message = `this protocol version is not supported; supported: ${supported.join(', ')}`
  const data = { supported, requested: version.slice(0, maxEchoedChars) }
  return fail({ code: statelessRpcCodes.unsupportedVersion, message, data })
}

function checkName(
  header: string | string[] | undefined,
  method: string,
  params: JsonObject,
): EnvelopeCheck {
  const member = namedMember(method)
  if (member === undefined) return accepted
  const value = params[member]
  if (header === undefined) return typeof value === 'string' ? missing('Mcp-Name') : accepted
  const decoded = typeof header === 'string' ? decodeHeaderValue(header) : null
  if (decoded === null) {
    const message =
      'header Mcp-Name must be visible ASCII, or =?base64?<base64 of UTF-8, padded>?= for anything else'
    return fail({ code: statelessRpcCodes.headerMismatch, message })
  }
  // A member that is missing is the method's to complain about.
  return typeof value !== 'string' || decoded === value
    ? accepted
    : mismatch('Mcp-Name', `params.${member}`)
}

function missing(header: string): EnvelopeCheck {
  const message = `header ${header} is missing: every request of this protocol version needs it`
  return fail({ code: statelessRpcCodes.headerMismatch, message })
}

function mismatch(header: string, member: string): EnvelopeCheck {
  const message = `header ${header} says something else than "${member}" of the body`
  return fail({ code: statelessRpcCodes.headerMismatch, message })
}
