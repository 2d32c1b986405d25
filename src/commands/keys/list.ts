import { BaseCommand } from '../../lib/cli/base-command.ts'
import { keysFlags, processPlace } from './settings.ts'

/** Lists the keys of clients. */
export default class KeysList extends BaseCommand {
  static override summary = 'List the keys for MCP clients'

  static override description =
    'Shows name, scope, age and expiry of each. The keys themselves are not stored.'

  static override examples = [
    { description: 'the keys', command: '<%= config.bin %> keys list' },
    { description: 'for a script', command: '<%= config.bin %> keys list --json' },
  ]

  static override flags = keysFlags

  override async run(): Promise<void> {
    const { flags } = await this.parse(KeysList)
    const { listKeys } = await import('./run.ts')
    await listKeys(flags, processPlace())
  }
}
