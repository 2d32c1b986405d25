import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand, globalFlags } from '../../lib/cli/base-command.ts'
import { type Output, processOutput, warningsTo } from '../../lib/cli/output.ts'
import { databaseFlag, readDatabase } from '../database-flag.ts'
import { selectDataDir } from './data-dir.ts'

type Operations = typeof import('../../server/accounts/admin/operations.ts')
type Admin = import('../../server/accounts/admin/open-admin.ts').Admin

/** Base of the commands of the operator: they work on the data, whether the server runs or not. */
export abstract class AdminCommand extends BaseCommand {
  static override baseFlags = {
    ...globalFlags,
    'data-dir': Flags.string({
      description: 'folder of the database and the keys',
      helpValue: 'DIR',
    }),
    ...databaseFlag,
  }
}

interface AdminFlags {
  readonly 'data-dir'?: string
  readonly database?: string
  readonly json: boolean
  readonly quiet: boolean
}

/** Opens the database while `action` runs and prints. Loads the store only now: help needs none. */
export async function administer(
  flags: AdminFlags,
  action: (parts: { admin: Admin; operations: Operations; output: Output }) => Promise<void>,
): Promise<void> {
  const output = processOutput(flags)
  const dataDir = selectDataDir(flags['data-dir'], process.env)
  const database = readDatabase(flags.database, process.env)
  const operations = await import('../../server/accounts/admin/operations.ts')
  await using admin = await operations.openAdmin({ dataDir, database, log: warningsTo(output) })
  await action({ admin, operations, output })
}

/** The account that a command is about. */
export const userArg = {
  user: Args.string({
    ignoreStdin: true,
    description: 'user name or email address',
    required: true,
  }),
}
