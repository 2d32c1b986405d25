import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../../lib/cli/base-command.ts'
import { keysFlags, processPlace } from './settings.ts'

/** Makes a key for clients of `serve` and `gateway`. */
export default class KeysCreate extends BaseCommand {
  static override summary = 'Create a key for MCP clients'

  static override description = `Prints the new key alone on stdout. It is shown only once: keys.json \
beside the configuration stores its hash. From the first key on, every server of your account \
requires one, running servers included.

Give each client a separate key, so that you can revoke one without the others.`

  static override examples = [
    { description: 'for one client', command: '<%= config.bin %> keys create anna-claude' },
    {
      description: 'a key that may only read, for 30 days',
      command: '<%= config.bin %> keys create review --read-only --expires-in 30d',
    },
  ]

  static override args = {
    name: Args.string({
      ignoreStdin: true,
      description: 'name of the key [default: key-1, key-2, …]',
    }),
  }

  static override flags = {
    'read-only': Flags.boolean({
      description: 'allow reading, but not answering notes or removing events',
      default: false,
    }),
    'expires-in': Flags.string({
      description: 'lifetime, as in 12h, 30d or 8w [default: until revoked]',
      helpValue: 'TIME',
    }),
    ...keysFlags,
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(KeysCreate)
    const { createKey } = await import('./run.ts')
    await createKey(args.name, flags, processPlace())
  }
}
