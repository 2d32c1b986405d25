import type { RegistrationMode } from '../../lib/accounts/protocol.ts'
import { defaultAccountLimits } from '../../server/accounts/limits.ts'
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

/** Flags and environment as checked settings. Throws `usage_invalid` naming the flag. */
export function readAccountsSettings(
  flags: AccountsServerFlags,
  env: NodeJS.ProcessEnv,
): AccountsServerSettings {
  const { accessTokenMs } = defaultAccountLimits
  return {
    ...readAddress(flags),
    dataDir: selectDataDir(flags['data-dir'], env),
    database: readDatabase(flags.database, env),
    limits: readLimitFlags(flags.limit ?? [], { accessTokenMs }),
    registration: flags.registration,
  }
}
