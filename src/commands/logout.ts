import * as Flags from '@oclif/core/flags'
import { AccountCommand } from '../lib/cli/base-command.ts'
import { withSavedToken } from '../lib/accounts/token.ts'
import { updateConfig, withoutLogin } from '../lib/config/config-file.ts'
import { ServiceError } from '../lib/util/errors.ts'
import { openAccount } from './account-context.ts'

export default class Logout extends AccountCommand {
  static override summary = 'Log out of an accounts server'
  static override description = `Ends the session and deletes the saved token, also when the accounts \
server cannot be reached. With --all the token stays until every session has ended.`
  static override examples = ['<%= config.bin %> logout', '<%= config.bin %> logout --all']

  static override flags = {
    all: Flags.boolean({ default: false, description: 'end every session, on every machine' }),
  }

  override async run(): Promise<void> {
    const { flags } = await this.parse(Logout)
    const { server, client, configFile, output, login } = await openAccount(flags)
    const isSaved = login?.access_token !== undefined
    let revoked = false
    if (isSaved) {
      try {
        await withSavedToken(client, configFile, token => client.logout(token, flags.all))
        revoked = true
      } catch (error) {
        // With the token the command can be repeated.
        if (flags.all || !(error instanceof ServiceError)) throw error
        revoked = error.code === 'auth_required'
        if (!revoked) output.warn(`the token may work until it expires: ${error.message}`)
      }
    }
    await updateConfig(configFile, config => withoutLogin(config, server.url))
    const username = login?.username ?? null
    await output.result('', { registry: server.url, username, revoked, all: flags.all })
    const where = flags.all ? ', on every machine' : ''
    output.note(isSaved ? `logged out of ${server.url}${where}` : `not logged in to ${server.url}`)
  }
}
