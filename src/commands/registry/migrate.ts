import * as Flags from '@oclif/core/flags'
import { counted } from '../../lib/util/amounts.ts'
import { processOutput, warningsTo } from '../../lib/cli/output.ts'
import { usage } from '../../lib/util/errors.ts'
import { readDatabase } from '../database-flag.ts'
import { AdminCommand } from './admin-command.ts'
import { selectDataDir } from './data-dir.ts'

/** Moves an accounts server from files to PostgreSQL, or back. */
export default class RegistryMigrate extends AdminCommand {
  static override summary = 'Copy accounts and keys from files to PostgreSQL, or back'

  static override description = `Copies everything, reads it again and compares it. Logins and tokens stay \
valid. The copy is there as a whole or not at all: a command that was interrupted can be repeated. What it \
copies stays as it is. Stop the accounts servers first, and start them on the copy alone.`

  static override examples = [
    {
      description: 'to the database that SERVICE_DATABASE_URL names',
      command: '<%= config.bin %> registry migrate --to database --data-dir /srv/registry',
    },
    {
      description: 'back to files, in a new folder with the wrapping.key of the servers',
      command: '<%= config.bin %> registry migrate --to files --data-dir /srv/registry-files',
    },
  ]

  static override flags = {
    to: Flags.option({
      description: 'where they are copied to',
      options: ['database', 'files'] as const,
      required: true,
    })(),
  }

  override async run(): Promise<void> {
    const { flags } = await this.parse(RegistryMigrate)
    const output = processOutput(flags)
    const dataDir = selectDataDir(flags['data-dir'], process.env)
    const database = readDatabase(flags.database, process.env)
    if (database === undefined) {
      throw usage('no database is named', 'give its address in SERVICE_DATABASE_URL or --database')
    }
    const { migrate } = await import('../../server/accounts/admin/migrate.ts')
    const done = await migrate({ to: flags.to, dataDir, database, log: warningsTo(output) })
    await output.result('', done)
    const rows = (table: string) => done.tables[table]?.rows ?? 0
    output.note(
      `${done.to} has ${counted(rows('accounts'), 'account')}, ${counted(rows('sessions'), 'session')}, \
${counted(rows('service_tokens'), 'service token')} and the keys; every row was compared`,
    )
    output.note(`${done.from} is as it was: start no accounts server on it again`)
  }
}
