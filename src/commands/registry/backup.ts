import * as Flags from '@oclif/core/flags'
import { resolve } from 'node:path'
import { AdminCommand } from './admin-command.ts'

export default class RegistryBackup extends AdminCommand {
  static override summary = 'Back up accounts and keys to a folder'
  static override description = `The accounts server can keep running. Keep the folder private. To \
restore, stop the server and copy both files back.`
  static override examples = [
    '<%= config.bin %> registry backup --out /backups/registry-$(date +%F)',
  ]

  static override flags = {
    out: Flags.string({ char: 'o', description: 'a new folder', helpValue: 'DIR', required: true }),
  }

  override async run(): Promise<void> {
    const { flags } = await this.parse(RegistryBackup)
    await this.administer(flags, async (admin, output) => {
      const made = await admin.backUp(resolve(flags.out))
      await output.result('', made)
      output.note(`wrote the accounts and the keys to ${made.folder}`)
    })
  }
}
