import { bearerToken } from '../../lib/auth/validate-bearer-token.ts'
import { gatewayKey, gatewayKeyPrefix, instanceHeader } from '../../lib/instances/gateway-key.ts'
import type { Secret } from '../../lib/util/secret.ts'
import type { AuthAccepted, AuthOutcome, AuthPolicy, AuthRefused } from '../http/authentication.ts'

interface GatewayAccess {
  readonly instanceId: string
  readonly hostToken: Secret
}

/** A gateway asks for others, whose rights it has checked; it only reads. */
const gateway: AuthAccepted = { ok: true, principal: 'gateway', mayWrite: false }

const misdirected: AuthRefused = {
  ok: false,
  status: 421,
  description: 'another instance than the one that is asked for has this address',
}

/**
 * The policy, and beside it the key of the gateways of this account. Without that key a gateway only
 * reads, too. A request for another instance, which had the same address before, is not served.
 */
export function withGatewayAccess(
  policy: AuthPolicy,
  { instanceId, hostToken }: GatewayAccess,
): AuthPolicy {
  const key = gatewayKey(hostToken)
  const start = `Bearer ${gatewayKeyPrefix}`
  return {
    ...policy,
    authenticate(caller) {
      const { authorization: sent, [instanceHeader]: wanted } = caller.headers
      if (wanted !== undefined && wanted !== instanceId) return misdirected
      const isMeant = sent !== undefined && sent.startsWith(start)
      if (isMeant && key.equals(bearerToken(sent) ?? '')) return gateway
      const outcome = policy.authenticate(caller)
      if (wanted === undefined) return outcome
      return outcome instanceof Promise ? outcome.then(onlyReading) : onlyReading(outcome)
    },
  }
}

function onlyReading(outcome: AuthOutcome): AuthOutcome {
  return outcome.ok ? { ...outcome, mayWrite: false, mayAnswer: false } : outcome
}
