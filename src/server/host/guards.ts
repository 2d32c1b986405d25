import type { IncomingMessage } from 'node:http'
import type { AppOrigin } from './app-origins.ts'
import { isLocalPeer, findForwardingHeader } from '../http/trusted-proxies.ts'
import { mediaType } from '../../lib/host-link/messages.ts'
import { bearerToken } from '../../lib/auth/validate-bearer-token.ts'
import { type ErrorCode, ServiceError } from '../../lib/util/errors.ts'
import type { Secret } from '../../lib/util/secret.ts'

/** A request to the host link that is not let in. */
export class HostRefusal extends ServiceError {
  /** A short word for log and audit. */
  readonly reason: string

  constructor(reason: string, code: ErrorCode, message: string, hint: string) {
    super(code, message, { hint })
    this.reason = reason
  }
}

/**
 * Why a request to the host link, a post or a WebSocket handshake, is refused; null: it is not.
 * `page`: the named origin that it comes from, whose token counts in place of the host token.
 */
export function authorizeHostRequest(
  req: IncomingMessage,
  token: Secret,
  page: AppOrigin | null,
): HostRefusal | null {
  const { origin, authorization } = req.headers
  const place = checkPlace(req)
  if (place !== null) return place
  // Browsers send `Origin`, applications do not: a page that is not named must not feed the server.
  if (origin !== undefined && page === null) {
    return new HostRefusal(
      'origin_present',
      'request_refused',
      'the host link refuses requests from web pages (an Origin header was sent)',
      'send the request without an Origin header, or name the origin of the page: serve --app-origin',
    )
  }
  const given = bearerToken(authorization)
  const hint = 'send the host token as "Authorization: Bearer <token>"'
  if (given === null) {
    return new HostRefusal('token_missing', 'auth_required', 'the host token is missing', hint)
  }
  if ((page?.token ?? token).equals(given)) return null
  const message = 'the host token is not the one of this run of the server'
  return new HostRefusal('token_wrong', 'auth_refused', message, hint)
}

/**
 * Only programs on this machine may write state, also when the server listens on the network. A
 * proxy on this machine makes every request look as if it came from it: one that names a proxy is
 * from elsewhere, whether that proxy is trusted or not.
 */
export function checkPlace({ socket, headers }: IncomingMessage): HostRefusal | null {
  if (!isLocalPeer(socket.remoteAddress, socket.localAddress)) {
    return new HostRefusal(
      'peer_not_loopback',
      'request_refused',
      'the host link answers programs on this machine only',
      'send the request from the machine that the server runs on, to the address of host_url',
    )
  }
  const name = findForwardingHeader(headers)
  if (name === null) return null
  return new HostRefusal(
    'forwarded',
    'request_refused',
    `the host link refuses requests that come over a proxy (a header "${name}" was sent)`,
    'send the request straight to the address of host_url',
  )
}

/** Throws `media_type_unsupported` for anything but JSON in UTF-8. */
export function checkJsonMediaType(contentType = ''): void {
  if (/^application\/json *(?:; *charset="?utf-8"? *)?$/i.test(contentType)) return
  throw unsupported('the body must be JSON in UTF-8', 'send "Content-Type: application/json"')
}

/** Throws `media_type_unsupported` for forms, which HTTP tools send by default. */
export function checkArtefactMediaType(contentType: string | undefined): void {
  if (contentType === undefined) return
  const hint = 'send the raw bytes with their own type, for example "Content-Type: image/png"'
  if (!mediaType.safeParse(contentType).success)
    throw unsupported('the content type is malformed', hint)
  const form = /^(multipart\/form-data|application\/x-www-form-urlencoded)\b/i
  if (form.test(contentType)) throw unsupported('a form is not an artefact', hint)
}

function unsupported(message: string, hint: string): ServiceError {
  return new ServiceError('media_type_unsupported', message, { hint })
}

export function switchedOff(what: string, option: string): never {
  throw new ServiceError('resource_not_enabled', `${what} switched off`, {
    hint: `start the server without ${option}`,
  })
}
