import * as Args from '@oclif/core/args'
import { BaseCommand } from '../../lib/cli/base-command.ts'
import { ServiceError } from '../../lib/util/errors.ts'
import { confirm, keysFlags, openKeys, yesFlag } from './keys-file.ts'

const consequence = 'servers refuse every client until keys create or keys off'

export default class KeysRevoke extends BaseCommand {
  static override summary = 'Revoke a key'
  static override description = `Running servers refuse it from the next request on and cut its open \
streams within two seconds. Asks before the last key is revoked: ${consequence} is run.`
  static override examples = ['<%= config.bin %> keys revoke anna-claude']

  static override args = {
    name: Args.string({ ignoreStdin: true, description: 'name of the key', required: true }),
  }

  static override flags = { yes: yesFlag, ...keysFlags }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(KeysRevoke)
    const { file, output, found, updateClientKeys } = await openKeys(flags)
    const known = found?.keys ?? []
    const isLast = known.length === 1 && known[0]?.name === args.name
    if (isLast && !flags.yes) await confirm(`It is the last key: ${consequence}`, 'Revoke it?')
    let left = 0
    await updateClientKeys(file, ({ keys }) => {
      const others = keys.filter(({ name }) => name !== args.name)
      left = others.length
      if (left < keys.length) return { keys: others }
      // Not repeated: it may be the key itself.
      throw new ServiceError('request_refused', 'there is no key of that name', {
        hint: 'service-cli keys list shows them',
      })
    })
    await output.result('', { name: args.name, revoked: true, left })
    output.note(`the key "${args.name}" is revoked; running servers refuse it from now on`)
    if (left === 0) output.note(`it was the last one: ${consequence}`)
  }
}
