import { createHmac } from 'node:crypto'
import { Secret } from '../util/secret.ts'

/** What every key of a gateway begins with. */
export const gatewayKeyPrefix = 'gateway-'

/** The header by which a gateway says which instance it means, and to other gateways which one answered. */
export const instanceHeader = 'service-instance'

/**
 * The key with which a gateway of the same account reads an instance: who can read the host token
 * can make it, and the token cannot be found from it.
 */
export function gatewayKey(hostToken: Secret): Secret {
  const digest = createHmac('sha256', hostToken.reveal()).update('service-cli gateway')
  return new Secret(gatewayKeyPrefix + digest.digest('base64url'))
}
