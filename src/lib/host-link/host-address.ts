import { isLoopback, withoutBrackets } from '../util/address.ts'
import { Secret } from '../util/secret.ts'
import { checkSecretText } from '../auth/secret-file.ts'

/** Where a server listens for the application, and what opens it. */
export interface HostAddress {
  /** `ws://127.0.0.1:8765/host` */
  readonly url: string
  readonly token: Secret
  /** Given by the user or the environment: another look would bring no other token. */
  readonly explicit: boolean
}

/**
 * The WebSocket address of a `host_url`. Throws `TypeError` for anything but `http:` or `ws:` to
 * this machine: the token would travel in the clear.
 */
export function webSocketUrl(hostUrl: string): string {
  const url = URL.canParse(hostUrl) ? new URL(hostUrl) : null
  if (url === null || !['http:', 'ws:'].includes(url.protocol)) {
    throw new TypeError('the host url must be like http://127.0.0.1:8765/host')
  }
  const name = withoutBrackets(url.hostname)
  if (!isLoopback(name) || url.username !== '' || url.password !== '') {
    throw new TypeError('the host url must be of this machine, such as http://127.0.0.1:8765/host')
  }
  url.protocol = 'ws:'
  url.hash = ''
  return url.href
}

/** Throws `TypeError` or `config_invalid` for what no server could accept. */
export function explicitAddress(hostUrl: string, token: string | Secret): HostAddress {
  const secret =
    typeof token === 'string' ? new Secret(checkSecretText(token, 'the host token')) : token
  return { url: webSocketUrl(hostUrl), token: secret, explicit: true }
}
