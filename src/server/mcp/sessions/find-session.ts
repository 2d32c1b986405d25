import type { IncomingHttpHeaders } from 'node:http'
import { type Result, fail, ok } from '../../../lib/util/result.ts'
import { rpcCodes } from '../errors.ts'
import { isSessionRevision, sessionRevisions } from './revisions.ts'
import type { Session, Sessions } from './sessions.ts'

export interface SessionRefusal {
  readonly status: number
  readonly code: number
  readonly message: string
}

/** The live session that a request names in its headers, or why it is not served in one. */
export function findSession(
  headers: IncomingHttpHeaders,
  principal: string,
  sessions: Pick<Sessions, 'find'>,
): Result<Session, SessionRefusal> {
  const id = headers['mcp-session-id']
  if (typeof id !== 'string' || id === '') {
    const message = 'the Mcp-Session-Id header is missing: initialize first'
    return fail({ status: 400, code: rpcCodes.refused, message })
  }
  const version = headers['mcp-protocol-version']
  if (version !== undefined && !(typeof version === 'string' && isSessionRevision(version))) {
    const message = `unsupported MCP-Protocol-Version; supported: ${sessionRevisions.join(', ')}`
    return fail({ status: 400, code: rpcCodes.refused, message })
  }
  const session = sessions.find(id, principal)
  if (session !== null) return ok(session)
  const message = 'session not found: it ended or never was; initialize again'
  return fail({ status: 404, code: rpcCodes.sessionNotFound, message })
}
