import { randomBytes } from 'node:crypto'
import { bearerToken } from '../../lib/auth/validate-bearer-token.ts'
import { gatewayKey, instanceHeader } from '../../lib/instances/gateway-key.ts'
import { isLoopback } from '../../lib/util/net.ts'
import { Secret } from '../../lib/util/secret.ts'
import {
  type AuthAccepted,
  type AuthOutcome,
  type AuthPolicy,
  refuse,
} from '../http/authentication.ts'
import { findForwardingHeader } from '../http/trusted-proxies.ts'

/** A gateway asks for others, whose rights it has checked; it only reads. */
const gateway: AuthAccepted = { ok: true, principal: 'gateway', mayWrite: false }

const misdirected = refuse(
  421,
  undefined,
  'another instance than the one that is asked for has this address',
)

function onlyReads(outcome: AuthOutcome): AuthOutcome {
  return outcome.ok ? { ...outcome, mayWrite: false, mayAnswer: false } : outcome
}

/**
 * The policy, and beside it the key of the gateways of this account. Without that key a gateway only
 * reads, too. A request for another instance, which had the same address before, is not served.
 */
export function withGatewayAccess(
  policy: AuthPolicy,
  { instanceId, hostToken }: { instanceId: string; hostToken: Secret },
): AuthPolicy {
  const key = gatewayKey(hostToken)
  return {
    ...policy,
    authenticate(caller) {
      const { authorization, [instanceHeader]: wanted } = caller.headers
      if (wanted !== undefined && wanted !== instanceId) return misdirected
      const sent = bearerToken(authorization)
      if (sent !== null && key.equals(sent)) return gateway
      const outcome = policy.authenticate(caller)
      if (wanted === undefined) return outcome
      return outcome instanceof Promise ? outcome.then(onlyReads) : onlyReads(outcome)
    },
  }
}

const owner: AuthAccepted = { ok: true, principal: 'owner', mayWrite: true }

/** Makes the token with which commands of the same account use a server that needs a key. */
export function newOwnerToken(): Secret {
  return new Secret(`own_${randomBytes(32).toString('base64url')}`)
}

/**
 * The policy, and beside it the owner's token: on a connection from this machine, and from neither a
 * web page nor a proxy, behind which anyone may be.
 */
export function withOwnerAccess(policy: AuthPolicy, token: Secret): AuthPolicy {
  return {
    ...policy,
    authenticate(caller) {
      const { headers, peer } = caller
      const sent = bearerToken(headers.authorization)
      const isOwner =
        sent !== null &&
        token.equals(sent) &&
        headers.origin === undefined &&
        findForwardingHeader(headers) === null &&
        isLoopback(peer)
      return isOwner ? owner : policy.authenticate(caller)
    },
  }
}
