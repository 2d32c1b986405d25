import type { RegistrationMode } from '../../lib/accounts/registration-mode.ts'
import {
  type AccountLimits,
  defaultAccountLimits,
  resolveAccountLimits,
} from '../../server/accounts/limits.ts'
import { type Limits, resolveLimits } from '../../lib/config/limits.ts'
import type { RegistryOptions } from '../../server/accounts/options.ts'
import { readLimitFlags } from '../limit-flag.ts'
import { type AddressFlags, readAddress } from '../server-settings.ts'
import { selectDataDir } from './data-dir.ts'

/** The flags of `registry` as the parser returns them. */
export interface RegistryFlags extends AddressFlags {
  'data-dir'?: string | undefined
  registration?: RegistrationMode | undefined
  limit?: string[] | undefined
}

export type RegistrySettings = Omit<RegistryOptions, 'log' | 'accessLog'>

const accountLimitNames = Object.keys(defaultAccountLimits)
/** Those bounds of the other servers that this one has too. */
const sharedLimitNames: readonly (keyof Limits)[] = [
  'bodyTimeoutMs',
  'headersTimeoutMs',
  'keepAliveTimeoutMs',
  'keyPollMs',
  'keyRotationMs',
  'maxBodyMs',
  'maxConnections',
  'maxHeaderBytes',
  'maxStoreWaitMs',
  'maxTlsFileBytes',
  'refusedBodyDrainMs',
  'stopGraceMs',
  'tlsHandshakeMs',
  'tlsPollMs',
]

/** Flags and environment as checked settings. Throws `usage_invalid` naming the flag. */
export function readRegistrySettings(
  flags: RegistryFlags,
  env: NodeJS.ProcessEnv,
): RegistrySettings {
  return {
    ...readAddress(flags),
    dataDir: selectDataDir(flags['data-dir'], env),
    ...readLimits(flags.limit ?? []),
    ...(flags.registration !== undefined && { registration: flags.registration }),
  }
}

function readLimits(words: readonly string[]): {
  limits: Partial<Limits>
  accountLimits: Partial<AccountLimits>
} {
  const all = readLimitFlags(words, [
    { names: accountLimitNames, check: resolveAccountLimits },
    { names: sharedLimitNames, check: resolveLimits },
  ])
  const pick = (names: readonly string[]) =>
    Object.fromEntries(Object.entries(all).filter(([name]) => names.includes(name)))
  return { limits: pick(sharedLimitNames), accountLimits: pick(accountLimitNames) }
}
