import * as Flags from '@oclif/core/flags'
import { accountFlags, BaseCommand, globalFlags } from '../../lib/cli/base-command.ts'
import { type Output, processOutput, warningsTo } from '../../lib/cli/output.ts'
import type { Logger } from '../../lib/util/logger.ts'
import { adminLimits, type Range } from '../../server/accounts/admin-limits.ts'
import { selectDataDir } from './data-dir.ts'

type Admin = import('../../server/accounts/admin/open-admin.ts').Admin

/** Base of the commands for whoever owns the files of a registry, running or not. */
export abstract class AdminCommand extends BaseCommand {
  static override baseFlags = {
    ...globalFlags,
    'data-dir': Flags.string({
      description: 'folder of the database and the keys',
      helpValue: 'DIR',
    }),
    'no-input': accountFlags['no-input'],
  }
}

interface AdminFlags {
  readonly 'data-dir'?: string | undefined
  readonly 'no-input'?: boolean | undefined
  readonly json: boolean
  readonly quiet: boolean
}

/** Where the registry is, and how the command speaks. */
interface AdminPlace {
  readonly dataDir: string
  readonly output: Output
  readonly log: Logger
}

export function adminPlace(flags: AdminFlags): AdminPlace {
  const output = processOutput(flags)
  const dataDir = selectDataDir(flags['data-dir'], process.env)
  return { dataDir, output, log: warningsTo(output) }
}

/** Opens the registry for the length of `action`. Loads the store only now: help needs none. */
export async function administer<Value>(
  { dataDir, log }: AdminPlace,
  action: (admin: Admin) => Promise<Value>,
): Promise<Value> {
  const { openAdmin } = await import('../../server/accounts/admin/open-admin.ts')
  await using admin = await openAdmin({ dataDir, log })
  return await action(admin)
}

/** Of the commands that show rows. */
export const limitFlag = Flags.integer({
  description: 'show at most so many',
  helpValue: 'COUNT',
  ...bounds(adminLimits.listRows),
})

export function bounds({ least, usual, most }: Range) {
  return { default: usual, min: least, max: most }
}
