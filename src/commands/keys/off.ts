import { BaseCommand } from '../../lib/cli/base-command.ts'
import { counted } from '../../lib/util/amounts.ts'
import { confirm, keysFlags, openKeys, yesFlag } from './keys-file.ts'

export default class KeysOff extends BaseCommand {
  static override summary = 'Revoke all keys and require none'
  static override description = `Servers that only this machine can reach let clients in without a key \
from now on, others refuse them until they are started again with --allow-unauthenticated. Asks for \
a confirmation when there are keys.`
  static override examples = ['<%= config.bin %> keys off']
  static override flags = { yes: yesFlag, ...keysFlags }

  override async run(): Promise<void> {
    const { flags } = await this.parse(KeysOff)
    const { file, output, found, updateClientKeys } = await openKeys(flags)
    const { length } = found?.keys ?? []
    if (length > 0 && !flags.yes) {
      const keys = counted(length, 'key')
      await confirm('Every account of this machine can then use your servers', `Revoke ${keys}?`)
    }
    await updateClientKeys(file, () => ({ open: true, keys: [] }))
    await output.result('', { open: true, revoked: length, file })
    output.note('clients need no key from now on, on servers that only this machine can reach;')
    output.note('restart others with --allow-unauthenticated if every machine may use them')
  }
}
