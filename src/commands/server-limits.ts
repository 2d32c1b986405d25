import { type AuthLimits, defaultAuthLimits, resolveAuthLimits } from '../server/auth/limits.ts'
import {
  defaultGatewayLimits,
  type GatewayLimits,
  resolveGatewayLimits,
} from '../lib/config/gateway-limits.ts'
import { defaultLimits, type Limits, resolveLimits } from '../lib/config/limits.ts'
import { type LimitSet, readLimitFlags } from './limit-flag.ts'

const serverNames = Object.keys(defaultLimits)
const gatewayNames = Object.keys(defaultGatewayLimits)
const authNames = Object.keys(defaultAuthLimits)

/** Bounds of every server, of the gateway, of authentication and of `more`, each where it belongs. */
export function readServerLimits(
  words: readonly string[],
  more: readonly LimitSet[] = [],
): {
  limits: Partial<Limits>
  gatewayLimits: Partial<GatewayLimits>
  authLimits: Partial<AuthLimits>
  moreLimits: Record<string, number>
} {
  const all = readLimitFlags(words, [
    { names: serverNames, check: resolveLimits },
    { names: gatewayNames, check: resolveGatewayLimits },
    { names: authNames, check: resolveAuthLimits },
    ...more,
  ])
  const pick = (names: readonly string[]) =>
    Object.fromEntries(Object.entries(all).filter(([name]) => names.includes(name)))
  return {
    limits: pick(serverNames),
    gatewayLimits: pick(gatewayNames),
    authLimits: pick(authNames),
    moreLimits: pick(more.flatMap(({ names }) => names)),
  }
}
