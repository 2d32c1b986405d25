import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { AppOrigin } from './app-origins.ts'
import { isLocalPeer, findForwardingHeader } from '../http/trusted-proxies.ts'
import { mediaType } from '../../lib/host-link/messages.ts'
import { bearerToken } from '../../lib/auth/validate-bearer-token.ts'
import { type ErrorCode, ServiceError } from '../../lib/util/errors.ts'
import type { Secret } from '../../lib/util/secret.ts'

/** Why a request is not let in: the answer, and a short word for log and audit. */
export interface Refusal {
  readonly reason: string
  readonly error: ServiceError
  readonly headers: Readonly<Record<string, string>>
}

/**
 * Why a request to the host link, a post or a WebSocket handshake, is refused; null: it is not.
 * `page`: the named origin that it comes from, whose token counts in place of the host token.
 */
export function authorizeHostRequest(
  req: IncomingMessage,
  token: Secret,
  page: AppOrigin | null,
): Refusal | null {
  return (
    checkPlace(req) ??
    (page === null ? checkOrigin(req.headers.origin) : null) ??
    checkToken(req.headers.authorization, page?.token ?? token)
  )
}

/** Whether the request comes from a program on this machine, and over no proxy. */
export function checkPlace({ socket, headers }: IncomingMessage): Refusal | null {
  return checkPeer(socket.remoteAddress, socket.localAddress) ?? checkForwarded(headers)
}

/** Only programs on this machine may write state, also when the server listens on the network. */
export function checkPeer(
  remoteAddress: string | undefined,
  localAddress: string | undefined,
): Refusal | null {
  if (isLocalPeer(remoteAddress, localAddress)) return null
  return refusal(
    'peer_not_loopback',
    'request_refused',
    'the host link answers programs on this machine only',
    'send the request from the machine that the server runs on, to the address of host_url',
  )
}

/**
 * A proxy on this machine makes every request look as if it came from it: one that names a proxy is
 * from elsewhere, whether that proxy is trusted or not.
 */
function checkForwarded(headers: IncomingHttpHeaders): Refusal | null {
  const name = findForwardingHeader(headers)
  if (name === null) return null
  return refusal(
    'forwarded',
    'request_refused',
    `the host link refuses requests that come over a proxy (a header "${name}" was sent)`,
    'send the request straight to the address of host_url',
  )
}

/** Browsers send `Origin`, applications do not: a page that is not named must not feed the server. */
export function checkOrigin(origin: string | undefined): Refusal | null {
  if (origin === undefined) return null
  return refusal(
    'origin_present',
    'request_refused',
    'the host link refuses requests from web pages (an Origin header was sent)',
    'send the request without an Origin header, or name the origin of the page: serve --app-origin',
  )
}

/** `Authorization: Bearer <host token>`, compared in constant time. */
export function checkToken(authorization: string | undefined, token: Secret): Refusal | null {
  const hint = 'send the host token as "Authorization: Bearer <token>"'
  const given = bearerToken(authorization)
  if (given === null) {
    const headers = { 'WWW-Authenticate': 'Bearer' }
    return refusal('token_missing', 'auth_required', 'the host token is missing', hint, headers)
  }
  if (token.equals(given)) return null
  const headers = { 'WWW-Authenticate': 'Bearer error="invalid_token"' }
  const detail = 'the host token is not the one of this run of the server'
  return refusal('token_wrong', 'auth_refused', detail, hint, headers)
}

/** The address has other methods only. */
export function wrongMethod(methods: readonly string[]): Refusal {
  const detail = `the host link takes only ${methods.join(' and ')} at this address`
  const headers = { Allow: methods.join(', ') }
  return refusal('method', 'method_not_allowed', detail, undefined, headers)
}

/** `/host` itself accepts only the WebSocket of the host link. */
export function notUpgraded(): Refusal {
  const headers = { Upgrade: 'websocket', Connection: 'Upgrade' }
  const detail = '/host is the address of the host link, a WebSocket'
  const hint = 'connect with a WebSocket client, or post to /host/v1/scene'
  return refusal('not_upgraded', 'upgrade_required', detail, hint, headers)
}

/** JSON routes: `application/json`, parameters allowed as long as the charset is UTF-8. */
export function checkJsonMediaType(contentType: string | undefined): Refusal | null {
  const [type = '', ...parameters] = (contentType ?? '').split(';')
  const charset = parameters.find(parameter => /^\s*charset\s*=/i.test(parameter))
  const utf8 = charset === undefined || /=\s*"?utf-8"?\s*$/i.test(charset)
  if (type.trim().toLowerCase() === 'application/json' && utf8) return null
  return unsupported('the body must be JSON in UTF-8', 'send "Content-Type: application/json"')
}

/** Artefacts: any media type except forms, which HTTP tools send by default. */
export function checkArtefactMediaType(contentType: string | undefined): Refusal | null {
  if (contentType === undefined) return null
  const hint = 'send the raw bytes with their own type, for example "Content-Type: image/png"'
  if (!mediaType.safeParse(contentType).success)
    return unsupported('the content type is malformed', hint)
  const form = /^(multipart\/form-data|application\/x-www-form-urlencoded)\b/i
  if (form.test(contentType)) return unsupported('a form is not an artefact', hint)
  return null
}

function unsupported(message: string, hint: string): Refusal {
  return refusal('media_type', 'media_type_unsupported', message, hint)
}

function refusal(
  reason: string,
  code: ErrorCode,
  message: string,
  hint?: string,
  headers: Record<string, string> = {},
): Refusal {
  const details = hint === undefined ? {} : { hint }
  return { reason, error: new ServiceError(code, message, details), headers }
}

export function switchedOff(what: string, option: string): never {
  throw new ServiceError('resource_not_enabled', `${what} switched off`, {
    hint: `start the server without ${option}`,
  })
}
