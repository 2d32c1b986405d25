import * as Flags from '@oclif/core/flags'
import { AdminCommand } from './admin-command.ts'

export default class RegistryRotateKey extends AdminCommand {
  static override summary = 'Publish the next signing key, or sign with it'

  static override description = `Without --activate, adds the next key to signing-keys.json. With \
several servers, copy that file to each of them; then run the command with --activate and copy it \
again. Tokens of the replaced key stay valid until they expire or a further key replaces its \
successor. A running accounts server reads the file again within seconds.`

  static override examples = [
    { description: 'publish the next key', command: '<%= config.bin %> registry rotate-key' },
    { description: 'sign with it', command: '<%= config.bin %> registry rotate-key --activate' },
  ]

  static override flags = {
    activate: Flags.boolean({ description: 'sign with the next key from now on' }),
  }

  override async run(): Promise<void> {
    const { flags } = await this.parse(RegistryRotateKey)
    await this.administer(flags, async (admin, output) => {
      const done = await admin.rotateKey({ activate: flags.activate ?? false })
      await output.result('', done)
      output.note(
        flags.activate
          ? `the key ${done.kid} signs now; copy ${done.file} to the other servers, if there are any`
          : `the next key ${done.kid} is in ${done.file}; copy that to the other servers, if there are any, then run rotate-key --activate`,
      )
    })
  }
}
