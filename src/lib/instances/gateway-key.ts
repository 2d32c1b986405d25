import { createHmac } from 'node:crypto'
import { Secret } from '../util/secret.ts'

/** The header that names the instance that a gateway means, or that joins a gateway. */
export const instanceHeader = 'service-instance'

/**
 * The key with which a gateway of the same account reads an instance: who can read the host token
 * can make it, and the token cannot be found from it.
 */
export function gatewayKey(hostToken: Secret): Secret {
  const digest = createHmac('sha256', hostToken.reveal()).update('service-cli gateway')
  return new Secret(`gateway-${digest.digest('base64url')}`)
}
