import { ServiceError } from '../../../lib/util/errors.ts'
import { cleanText } from '../../../lib/util/text.ts'
import { AdminCommand, userArg } from '../admin-command.ts'
import { endedJson, endedText } from './disable.ts'

const hourMs = 60 * 60 * 1000

export default class RegistryUsersResetCode extends AdminCommand {
  static override summary = 'Create a code for a lost password'
  static override description = `Prints the code alone on stdout. It is valid once, for an hour, and \
replaces an earlier one. Ends every login and service token of the account at once.`
  static override examples = ['<%= config.bin %> registry users reset-code alice']
  static override args = userArg

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(RegistryUsersResetCode)
    await this.administer(flags, async (admin, output) => {
      const { id, username, usernameKey, disabledAtMs } = await admin.findUser(args.user)
      if (disabledAtMs !== null) {
        const hint = `service-cli registry users enable ${username}`
        throw new ServiceError('request_refused', `the account "${username}" is disabled`, { hint })
      }
      const made = await admin.makeCode(usernameKey, hourMs)
      const ended = await admin.store.endAccess(id)
      await admin.record('code.created', id, { expires_at: made.expires_at })
      output.note(`code of "${username}", valid once until ${made.expires_at}`)
      output.note(`the user runs: service-cli password ${username} --code`)
      output.note(endedText(ended))
      for (const token of ended.tokens) {
        output.note(`service token "${cleanText(token.name)}" (${token.id})`)
      }
      await output.result(made.code, { id, username, ...endedJson(ended), ...made })
    })
  }
}
