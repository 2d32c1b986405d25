import { counted } from '../../../lib/util/amounts.ts'
import type { EndedAccess } from '../../../server/accounts/store.ts'
import { AdminCommand, userArg } from '../admin-command.ts'

export default class RegistryUsersDisable extends AdminCommand {
  static override summary = 'Disable an account'
  static override description = `Ends every login and service token of the account, and refuses its \
password until the account is enabled again.`
  static override examples = ['<%= config.bin %> registry users disable alice']
  static override args = userArg

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(RegistryUsersDisable)
    await this.administer(flags, async (admin, output) => {
      const { id, username } = await admin.findUser(args.user)
      const ended = await admin.store.disableAccount(id, Date.now())
      await admin.record('account.disabled', id)
      await output.result('', { id, username, disabled: true, ...endedJson(ended) })
      output.note(`the account "${username}" is disabled; ${endedText(ended)}`)
    })
  }
}

export function endedJson({ sessions, tokens }: EndedAccess) {
  return { ended_sessions: sessions, ended_tokens: tokens.map(({ id, name }) => ({ id, name })) }
}

/** `2 logins and 1 service token ended`. */
export function endedText({ sessions, tokens }: EndedAccess): string {
  return `${counted(sessions, 'login')} and ${counted(tokens.length, 'service token')} ended`
}
