import * as Flags from '@oclif/core/flags'
import { AdminCommand } from './admin-command.ts'

export default class RegistryRotateKey extends AdminCommand {
  static override summary = 'Publish the next signing key, or sign with it'
  static override description = `Adds the next key to signing-keys.json; --activate signs with it. With \
several servers, copy that file to each of them after each of the two steps.`
  static override examples = ['<%= config.bin %> registry rotate-key --activate']

  static override flags = {
    activate: Flags.boolean({ description: 'sign with the next key from now on' }),
  }

  override async run(): Promise<void> {
    const { flags } = await this.parse(RegistryRotateKey)
    await this.administer(flags, async (admin, output) => {
      const { activate } = flags
      const done = await admin.rotateKey({ activate })
      await output.result('', done)
      const now = activate ? 'signs now' : 'is published; rotate-key --activate signs with it'
      output.note(`the key ${done.kid} ${now}`)
      output.note(`copy ${done.file} to the other servers, if there are any`)
    })
  }
}
