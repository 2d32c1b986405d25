import * as Flags from '@oclif/core/flags'
import { databaseVariable, parseDatabaseUrl } from '../server/database/settings.ts'
import { usage } from '../lib/util/errors.ts'

/** The flag of servers that may share a PostgreSQL database. */
export const databaseFlag = {
  database: Flags.string({
    description: 'PostgreSQL in place of files: postgres://USER@HOST/NAME',
    helpValue: 'URL',
  }),
}

/**
 * The flag, else the variable, which may have a password. Undefined without both. Throws
 * `usage_invalid`.
 */
export function readDatabase(flag: string | undefined, env: NodeJS.ProcessEnv): URL | undefined {
  const variable = env[databaseVariable]
  if (flag === undefined) return variable ? parseDatabaseUrl(variable, databaseVariable) : undefined
  const url = parseDatabaseUrl(flag, '--database')
  if (url.password === '') return url
  throw usage(
    '--database must not have a password: other users of this machine can see it',
    `pass the address in ${databaseVariable}, or the password in PGPASSWORD or a PGPASSFILE`,
  )
}
