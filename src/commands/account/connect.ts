import type { AccountsClient } from '../../lib/accounts/client.ts'
import { defaultClientLimits } from '../../lib/accounts/client-limits.ts'
import { connectAccounts } from '../../lib/accounts/connect.ts'
import { notLoggedIn, withGivenToken, withSavedToken } from '../../lib/accounts/session.ts'
import { readChosenToken } from '../../lib/accounts/token-source.ts'
import type { Secret } from '../../lib/util/secret.ts'
import type { AccountContext } from './context.ts'

/** The accounts server of the context, ready to be asked. */
interface Connection {
  readonly client: AccountsClient
  /**
   * Calls with the token that counts: one that was given as it is, the saved one refreshed when
   * that is due. Throws `auth_required` when there is none.
   */
  withToken<T>(call: (token: Secret) => Promise<T>): Promise<T>
  /** The same with the saved token alone, whatever was given. */
  withSaved<T>(call: (token: Secret) => Promise<T>): Promise<T>
}

export function connect(context: AccountContext): Connection {
  const { server, login, choice, places, env, store, log } = context
  const entry = context.config.servers.get(server.url)
  const client = connectAccounts({ server, entry, configPath: store.path, env, log })
  const { refreshMarginMs } = defaultClientLimits
  const parts = { client, store, username: login?.username, log, refreshMarginMs }
  const withSaved = <T>(call: (token: Secret) => Promise<T>): Promise<T> =>
    withSavedToken(parts, call)
  return {
    client,
    async withToken(call) {
      if (choice === null) throw notLoggedIn(server)
      const given = await readChosenToken(choice, places)
      return given === null ? withSaved(call) : withGivenToken(given, choice, call)
    },
    withSaved,
  }
}
