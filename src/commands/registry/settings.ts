import type { RegistrationMode } from '../../lib/accounts/protocol.ts'
import { checkAccountLimits, defaultPublicAccountLimits } from '../../server/accounts/limits.ts'
import { checkLimits, type PublicLimits } from '../../lib/config/limits.ts'
import type { AccountsServerOptions } from '../../server/accounts/options.ts'
import { readDatabase } from '../database-flag.ts'
import { readLimitFlags } from '../limit-flag.ts'
import { type AddressFlags, readAddress } from '../server-settings.ts'
import { selectDataDir } from './data-dir.ts'

/** The flags of `registry` as the parser returns them. */
export interface AccountsServerFlags extends AddressFlags {
  'data-dir'?: string
  database?: string
  registration?: RegistrationMode
  limit?: string[]
}

export type AccountsServerSettings = Omit<AccountsServerOptions, 'log' | 'accessLog'>

/** Those bounds of the other servers that this one has too. */
const sharedLimitNames: readonly (keyof PublicLimits)[] = ['bodyTimeoutMs', 'stopGraceMs']
const limitSets = [
  { names: Object.keys(defaultPublicAccountLimits), check: checkAccountLimits },
  { names: sharedLimitNames, check: checkLimits },
]

/** Flags and environment as checked settings. Throws `usage_invalid` naming the flag. */
export function readAccountsSettings(
  flags: AccountsServerFlags,
  env: NodeJS.ProcessEnv,
): AccountsServerSettings {
  return {
    ...readAddress(flags),
    dataDir: selectDataDir(flags['data-dir'], env),
    database: readDatabase(flags.database, env),
    limits: readLimitFlags(flags.limit ?? [], limitSets),
    registration: flags.registration,
  }
}
