import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { ServiceError } from '../../../lib/util/errors.ts'
import { requireQuestioner } from '../../../lib/cli/prompt.ts'
import { counted } from '../../../lib/cli/format.ts'
import { AdminCommand, adminPlace, administer } from '../admin-command.ts'

/** Deletes an account. */
export default class RegistryUsersDelete extends AdminCommand {
  static override summary = 'delete an account with its sessions and tokens'

  static override description = `Asks for the name again, unless --yes is given. Its entries of \
the audit stay, and its name cannot be registered for 90 days. Disabling can be undone, this cannot.`

  static override examples = [
    { description: 'after a question', command: '<%= config.bin %> registry users delete alice' },
    {
      description: 'from a script',
      command: '<%= config.bin %> registry users delete alice --yes',
    },
  ]

  static override args = {
    user: Args.string({
      ignoreStdin: true,
      description: 'user name or email address',
      required: true,
    }),
  }

  static override flags = {
    yes: Flags.boolean({ char: 'y', description: 'delete without a question' }),
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(RegistryUsersDelete)
    const place = adminPlace(flags)
    const done = await administer(place, async admin => {
      const { deleteUser, showUser } = await import('../../../server/accounts/admin/users.ts')
      const { username, sessions, tokens } = await showUser(admin, args.user)
      if (!flags.yes) {
        const what = `"${username}" with ${counted(sessions.length, 'session')} and ${counted(tokens.length, 'token')}`
        await confirm(username, what, flags['no-input'])
      }
      return deleteUser(admin, username)
    })
    await place.output.result('', done)
    place.output.note(`the account "${done.username}" is deleted`)
  }
}

async function confirm(username: string, what: string, noInput: boolean): Promise<void> {
  const { stdin, stderr } = process
  const place = { stdinIsTTY: stdin.isTTY, stderrIsTTY: stderr.isTTY, noInput }
  const ask = requireQuestioner(
    place,
    'the confirmation',
    'give --yes to delete without a question',
  )
  const typed = await ask.askText(`Type the name to delete ${what}:`)
  if (typed === username) return
  throw new ServiceError('usage_invalid', 'that is another name: nothing was deleted')
}
