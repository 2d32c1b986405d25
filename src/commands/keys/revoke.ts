import * as Args from '@oclif/core/args'
import { BaseCommand } from '../../lib/cli/base-command.ts'
import { keysFlags, processPlace } from './settings.ts'

/** Ends a key. */
export default class KeysRevoke extends BaseCommand {
  static override summary = 'Revoke a key'

  static override description = `Running servers refuse it from the next request on and cut its open \
streams within two seconds. After the last key is revoked, servers start only with a new key or \
--auth none. Pass the name, never the key itself.`

  static override examples = [
    { description: 'by name', command: '<%= config.bin %> keys revoke anna-claude' },
  ]

  static override args = {
    name: Args.string({ ignoreStdin: true, description: 'name of the key', required: true }),
  }

  static override flags = keysFlags

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(KeysRevoke)
    const { revokeKey } = await import('./run.ts')
    await revokeKey(args.name, flags, processPlace())
  }
}
