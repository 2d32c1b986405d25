import * as Flags from '@oclif/core/flags'
import { AdminCommand, administer } from './admin-command.ts'

/** Puts the next keys into use. */
export default class RegistryRotateKey extends AdminCommand {
  static override summary = 'Start using the next signing keys'

  static override description = `Tokens of the replaced keys stay valid until they expire. Keys \
are also rotated automatically every 90 days. A running accounts server uses the new keys within a second.`

  static override examples = [
    {
      description: 'before the automatic rotation',
      command: '<%= config.bin %> registry rotate-key',
    },
    {
      description: 'after the key file was exposed',
      command: '<%= config.bin %> registry rotate-key --compromised',
    },
  ]

  static override flags = {
    compromised: Flags.boolean({
      description: 'revoke all old keys: every login ends, service tokens stay',
    }),
  }

  override async run(): Promise<void> {
    const { flags } = await this.parse(RegistryRotateKey)
    await administer(flags, async ({ admin, operations, output }) => {
      const done = await operations.rotateKeys(admin, flags)
      await output.result('', done)
      const fate = flags.compromised ? 'void' : 'valid until they expire'
      output.note(
        `the keys are rotated; tokens of the old ones are ${fate}. A running accounts server uses the new keys within a second`,
      )
    })
  }
}
