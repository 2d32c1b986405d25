import { BaseCommand } from '../../lib/cli/base-command.ts'
import { columns } from '../../lib/cli/format.ts'
import { processOutput } from '../../lib/cli/output.ts'
import { durationText } from '../../lib/util/amounts.ts'
import { expiryOf, keyJson, keysFileOf, keysFlags } from './keys-file.ts'

export default class KeysList extends BaseCommand {
  static override summary = 'List the keys for MCP clients'
  static override description = 'Shows name, scope, age and expiry of each.'
  static override examples = ['<%= config.bin %> keys list']
  static override flags = keysFlags

  override async run(): Promise<void> {
    const { flags } = await this.parse(KeysList)
    const { readClientKeys } = await import('../../lib/auth/client-keys.ts')
    const output = processOutput(flags)
    const file = keysFileOf(flags)
    const found = await readClientKeys(file)
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
