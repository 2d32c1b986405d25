import * as Flags from '@oclif/core/flags'
import { resolve } from 'node:path'
import { counted } from '../../lib/util/amounts.ts'
import { AdminCommand, administer } from './admin-command.ts'

/** Writes a backup of an accounts server. */
export default class RegistryBackup extends AdminCommand {
  static override summary = 'Back up accounts and keys to a folder'

  static override description = `The accounts server can keep running. The folder holds the keys and \
the hashes of all passwords: keep it private. The command verifies the backup before it ends.`

  static override examples = [
    {
      description: 'into a folder named by the date',
      command: '<%= config.bin %> registry backup --out /backups/registry-$(date +%F)',
    },
  ]

  static override flags = {
    out: Flags.string({
      char: 'o',
      description: 'new folder for the backup',
      helpValue: 'DIR',
      required: true,
    }),
  }

  override async run(): Promise<void> {
    const { flags } = await this.parse(RegistryBackup)
    await administer(flags, async ({ admin, operations, output }) => {
      const made = await operations.backUp(admin, resolve(flags.out))
      await output.result('', made)
      const { accounts, sessions, folder } = made
      output.note(
        `wrote ${counted(accounts, 'account')}, ${counted(sessions, 'session')} and the keys to ${folder}`,
      )
    })
  }
}
