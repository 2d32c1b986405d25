import * as Flags from '@oclif/core/flags'
import { usage } from '../../../lib/util/errors.ts'
import { requirePrompt } from '../../../lib/cli/prompt.ts'
import { AdminCommand, userArg } from '../admin-command.ts'

export default class RegistryUsersDelete extends AdminCommand {
  static override summary = 'Delete an account with its sessions and tokens'
  static override description = `Asks for the name again. This cannot be undone; disabling can. The \
audit entries stay, and the name can be registered again.`
  static override examples = ['<%= config.bin %> registry users delete alice']
  static override args = userArg

  static override flags = {
    yes: Flags.boolean({ char: 'y', description: 'delete without a confirmation' }),
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(RegistryUsersDelete)
    await this.administer(flags, async (admin, output) => {
      const { id, username, usernameKey } = await admin.findUser(args.user)
      if (!flags.yes) {
        const way = 'give --yes to delete without a confirmation'
        const question = `Type the name to delete "${username}" with its sessions and tokens:`
        const typed = await requirePrompt('the confirmation', way).askText(question)
        if (typed !== username) throw usage('that is another name: nothing was deleted')
      }
      await admin.store.deleteAccount(id, usernameKey)
      await admin.record('account.deleted', id, { username })
      await output.result('', { id, username, deleted: true })
      output.note(`the account "${username}" is deleted`)
    })
  }
}
