import type { Interfaces } from '@oclif/core'
import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { join } from 'node:path'
import { BaseCommand, globalFlags } from '../../lib/cli/base-command.ts'
import { type Output, processOutput } from '../../lib/cli/output.ts'
import { xdgFolder } from '../../lib/config/paths.ts'
import { usage } from '../../lib/util/errors.ts'
import { databaseVariable, parseDatabaseUrl } from '../../server/database/settings.ts'
import { checkPath } from '../path-flags.ts'

type Admin = import('../../server/accounts/admin.ts').Admin

/** Where an accounts server has its data. */
export const dataFlags = {
  'data-dir': Flags.string({ description: 'folder of database and keys', helpValue: 'DIR' }),
  database: Flags.string({
    description: 'PostgreSQL in place of files: postgres://USER@HOST/NAME',
    helpValue: 'URL',
  }),
}

export type DataFlags = Partial<Interfaces.InferredFlags<typeof dataFlags>>

/** Without `--data-dir`, the folder of this program among the user's data (XDG). */
export function readDataFlags(flags: DataFlags, env: NodeJS.ProcessEnv) {
  const dataHome = xdgFolder(env, 'XDG_DATA_HOME', '.local/share')
  const usual = join(dataHome, 'service-cli', 'registry')
  const dataDir = checkPath('data-dir', flags['data-dir']) ?? usual
  return { dataDir, database: readDatabase(flags.database, env) }
}

/**
 * The flag, else the variable, which may have a password. Undefined without both. Throws
 * `usage_invalid`.
 */
function readDatabase(flag: string | undefined, env: NodeJS.ProcessEnv): URL | undefined {
  const variable = env[databaseVariable]
  if (flag === undefined) return variable ? parseDatabaseUrl(variable, databaseVariable) : undefined
  const url = parseDatabaseUrl(flag, '--database')
  if (url.password === '') return url
  throw usage(
    '--database must not have a password: other users of this machine can see it',
    `pass the address in ${databaseVariable}, or the password in PGPASSWORD or a PGPASSFILE`,
  )
}

/** Base of the commands of the operator: they work on the data, whether the server runs or not. */
export abstract class AdminCommand extends BaseCommand {
  static override baseFlags = { ...globalFlags, ...dataFlags }

  /** Opens the data while `action` runs and prints. Help loads no store. */
  protected async administer(
    flags: DataFlags & { json: boolean; quiet: boolean },
    action: (admin: Admin, output: Output) => Promise<void>,
  ): Promise<void> {
    const { Admin } = await import('../../server/accounts/admin.ts')
    await using admin = await Admin.open(readDataFlags(flags, process.env))
    await action(admin, processOutput(flags))
  }
}

/** The account that a command is about. */
export const userArg = {
  user: Args.string({ ignoreStdin: true, description: 'name or email address', required: true }),
}
