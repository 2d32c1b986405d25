import * as Flags from '@oclif/core/flags'
import { resolve } from 'node:path'
import { counted } from '../../lib/util/amounts.ts'
import { processOutput, warningsTo } from '../../lib/cli/output.ts'
import { readDatabase } from '../database-flag.ts'
import { AdminCommand } from './admin-command.ts'
import { selectDataDir } from './data-dir.ts'

/** Brings a backup back. */
export default class RegistryRestore extends AdminCommand {
  static override summary = 'Restore accounts and keys from a backup'

  static override description = `Restores the state of the backup, and undoes every later change, such as \
a revoked token. Ends all sessions unless --keep-sessions is given. Stop the accounts server first.`

  static override examples = [
    {
      description: 'into a new folder',
      command:
        '<%= config.bin %> registry restore --from /backups/registry-2026-01-15 --data-dir /srv/registry',
    },
    {
      description: 'replace existing accounts, which are moved aside',
      command: '<%= config.bin %> registry restore --from /backups/registry-2026-01-15 --force',
    },
  ]

  static override flags = {
    from: Flags.string({ description: 'folder of the backup', helpValue: 'DIR', required: true }),
    force: Flags.boolean({ char: 'f', description: 'move existing accounts and keys aside' }),
    'without-keys': Flags.boolean({
      description: 'skip the keys of the backup; every session ends',
    }),
    'keep-sessions': Flags.boolean({
      description: 'keep the logins of the backup, including those ended later',
    }),
  }

  override async run(): Promise<void> {
    const { flags } = await this.parse(RegistryRestore)
    const output = processOutput(flags)
    const dataDir = selectDataDir(flags['data-dir'], process.env)
    if (readDatabase(flags.database, process.env) !== undefined) {
      const { backupUnsupported } = await import('../../server/accounts/admin/backup.ts')
      throw backupUnsupported()
    }
    const { restore } = await import('../../server/accounts/admin/restore.ts')
    const done = await restore({
      from: resolve(flags.from),
      dataDir,
      log: warningsTo(output),
      force: flags.force,
      withoutKeys: flags['without-keys'],
      keepSessions: flags['keep-sessions'],
    })
    await output.result('', done)
    const { accounts, data_dir: folder, backup_created_at: time, replaced } = done
    output.note(`${folder} has ${counted(accounts, 'account')}, as of ${time}`)
    if (replaced !== null) output.note(`what was there is in ${replaced}`)
    output.note(
      flags['keep-sessions']
        ? 'sessions go on; passwords, tokens and sessions changed since then are as they were'
        : `ended ${counted(done.sessions_ended, 'session')}; passwords and tokens changed since then are as they were`,
    )
  }
}
