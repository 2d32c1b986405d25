import type { IncomingHttpHeaders } from 'node:http'
import { bearerToken } from '../../lib/auth/validate-bearer-token.ts'
import { ServiceError } from '../../lib/util/errors.ts'
import type { Refusal } from '../host/guards.ts'
import { isSameOrigin } from '../http/guard.ts'
import { type PageSession, type PageSessions, tokenPrefix } from './sessions.ts'

/**
 * Only the page itself may use its routes: a browser says where a request comes from, in
 * `Sec-Fetch-Site` (of trustworthy addresses) and `Origin`. Other programs say nothing.
 */
export function checkSameOrigin(headers: IncomingHttpHeaders, publicUrl?: string): Refusal | null {
  const { 'sec-fetch-site': site, origin, host = '' } = headers
  const isPublic = publicUrl !== undefined && origin === new URL(publicUrl).origin
  const isOwn = origin === undefined || isSameOrigin(origin, host) || isPublic
  if ((site === undefined || site === 'same-origin') && isOwn) return null
  return refused('other_origin', 'only the page of this server may do this')
}

/**
 * A header that no form can send, and no page of another origin without a permission that this
 * server never gives: the cookie alone is not enough.
 */
export function checkPageHeader(headers: IncomingHttpHeaders): Refusal | null {
  if (headers['service-page'] === '1') return null
  return refused('page_header', 'the header Service-Page is missing', 'send "Service-Page: 1"')
}

/** Whose token a request brings that would write something, or why it is refused. */
export function findWriter(
  headers: IncomingHttpHeaders,
  sessions: PageSessions,
): PageSession | Refusal {
  const token = bearerToken(headers.authorization)
  const hint = 'open a link of service-cli page'
  if (token === null) {
    const error = new ServiceError('auth_required', 'the token of the page is missing', { hint })
    return { reason: 'token_missing', error, headers: { 'WWW-Authenticate': 'Bearer' } }
  }
  const session = token.startsWith(tokenPrefix) ? sessions.ofToken(token) : null
  if (session === null) {
    const detail = 'the token of the page has expired, or its login has ended'
    const error = new ServiceError('auth_refused', detail, { hint })
    const challenge = 'Bearer error="invalid_token"'
    return { reason: 'token_wrong', error, headers: { 'WWW-Authenticate': challenge } }
  }
  if (session.mayWrite) return session
  return refused('read_only', 'the key of this login may only read', hint)
}

function refused(reason: string, detail: string, hint?: string): Refusal {
  return { reason, error: new ServiceError('request_refused', detail, { hint }), headers: {} }
}

/** The values of a cookie; a program on another port may have set a second one of its name. */
export function cookiesNamed(name: string, header: string | undefined): readonly string[] {
  const pairs = (header ?? '').split(';').map(pair => pair.trim())
  return pairs.filter(pair => pair.startsWith(`${name}=`)).map(pair => pair.slice(name.length + 1))
}
