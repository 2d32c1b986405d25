import { columns } from '../../../lib/cli/format.ts'
import { AdminCommand, administer } from '../admin-command.ts'

/** Lists the keys that tokens are made with. */
export default class RegistrySigningKeysList extends AdminCommand {
  static override summary = 'List the keys that tokens are signed with'

  static override usage = 'registry signing-keys list [FLAGS]'

  static override description = `Shows use, id, state and age. A \`next\` key is published but \
not used yet. An \`active\` key is in use. A \`retired\` key is kept until its last token has \
expired. Shows no secret.`

  static override examples = [
    { description: 'all of them', command: '<%= config.bin %> registry signing-keys list' },
  ]

  override async run(): Promise<void> {
    const { flags } = await this.parse(RegistrySigningKeysList)
    await administer(flags, async ({ admin, operations, output }) => {
      const list = await operations.listKeys(admin)
      const rows = list.keys.map(key => [
        key.use,
        key.id,
        key.state,
        key.created_at,
        key.retired_at ?? '',
      ])
      await output.result(columns(['USE', 'ID', 'STATE', 'CREATED', 'RETIRED'], rows), list)
    })
  }
}
