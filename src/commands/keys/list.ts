import { BaseCommand } from '../../lib/cli/base-command.ts'
import { columns } from '../../lib/cli/format.ts'
import { durationText } from '../../lib/util/amounts.ts'
import { expiryOf, keyJson, keysFlags, openKeys } from './keys-file.ts'

export default class KeysList extends BaseCommand {
  static override summary = 'List the keys for MCP clients'
  static override description = 'Shows name, scope, age and expiry of each.'
  static override examples = ['<%= config.bin %> keys list']
  static override flags = keysFlags

  override async run(): Promise<void> {
    const { flags } = await this.parse(KeysList)
    const { file, output, found } = await openKeys(flags)
    const keys = found?.keys ?? []
    const isRequired = found !== null && found.open !== true
    const rows = keys.map(key => [
      key.name,
      key.scope,
      `${durationText(Date.now() - Date.parse(key.created_at))} ago`,
      expiryOf(key),
    ])
    const table = columns(['NAME', 'SCOPE', 'CREATED', 'EXPIRY'], rows)
    const json = { file, required: isRequired, keys: keys.map(keyJson) }
    await output.result(keys.length === 0 ? '' : table, json)
    if (keys.length > 0) return
    const what = isRequired ? 'and servers require one: no client gets in' : 'and none is needed'
    output.note(`there are no keys in ${file}, ${what}`)
  }
}
