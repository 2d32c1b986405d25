import * as Flags from '@oclif/core/flags'
import { AccountCommand } from '../lib/cli/base-command.ts'
import type { AccountsClient } from '../lib/accounts/client.ts'
import { withSavedToken } from '../lib/accounts/token.ts'
import type { ConfigStore } from '../lib/config/config-store.ts'
import { onlyLogin, withoutLogin } from '../lib/config/config-file.ts'
import { ServiceError } from '../lib/util/errors.ts'
import { openAccount, overridingVariable } from './account/context.ts'

/** Ends the saved login. */
export default class Logout extends AccountCommand {
  static override summary = 'Log out of an accounts server'

  static override description = `Ends the session at the accounts server and deletes the saved \
token, also when the accounts server cannot be reached. Tokens in environment variables stay.`

  static override examples = [
    { description: 'this login', command: '<%= config.bin %> logout' },
    { description: 'on every machine', command: '<%= config.bin %> logout --all' },
  ]

  static override flags = {
    all: Flags.boolean({
      default: false,
      description: 'end every session of the account, on every machine',
    }),
  }

  override async run(): Promise<void> {
    const { flags } = await this.parse(Logout)
    const { all } = flags
    const { server, client, store, output, login } = await openAccount(flags)
    const isSaved = login?.accessToken !== undefined
    const failure = isSaved ? await endSession(client, store, all) : null
    const left = await store.update(config => withoutLogin(config, server.url))
    if (all && failure !== null) {
      const message = `logged out here, but not everywhere: ${failure.message}`
      const hint = `log in to ${server.url} again, and repeat logout --all`
      throw new ServiceError(failure.code, message, { hint })
    }
    if (failure !== null) {
      output.warn(`the token was deleted here, and may work until it expires: ${failure.message}`)
    }
    const revoked = isSaved && failure === null
    await output.result('', {
      registry: server.url,
      username: login?.username ?? null,
      revoked,
      all,
    })
    output.note(
      isSaved
        ? `logged out of ${server.url}${all ? ', on every machine' : ''}`
        : `not logged in to ${server.url}`,
    )
    const next = left.defaultServer ?? onlyLogin(left)
    if (next !== undefined && next !== server.url && !process.env.SERVICE_REGISTRY) {
      output.note(`commands now go to ${next}`)
    }
    const variable = overridingVariable()
    if (variable !== undefined) {
      output.warn(`${variable} is still set: commands go on using its token`)
    }
  }
}

/** Null when the session is over, else why it may not be. */
async function endSession(
  client: AccountsClient,
  store: ConfigStore,
  all: boolean,
): Promise<ServiceError | null> {
  try {
    await withSavedToken(client, store, token => client.logout(token, all))
    return null
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    // It had ended before. Others of the account may not have.
    return !all && error.code === 'auth_required' ? null : error
  }
}
