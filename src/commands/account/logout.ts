import type { Config } from '../../lib/config/config-file.ts'
import { onlyLogin, savedLogin, withoutLogin } from '../../lib/config/saved-logins.ts'
import { ServiceError } from '../../lib/util/errors.ts'
import { connect } from './connect.ts'
import { type AccountContext, type AccountFlags, openContext } from './context.ts'
import { isNotOffered, overridingVariable } from './save-login.ts'

interface LogoutFlags extends AccountFlags {
  readonly all?: boolean
}

/**
 * Ends the saved login at the accounts server and deletes it here, also when the server refuses.
 * With `all` it is an error when the other sessions could not be ended.
 */
export async function logout(flags: LogoutFlags, env: NodeJS.ProcessEnv): Promise<void> {
  const context = await openContext(flags, env, { savesLogin: true })
  const { server, login, store, output } = context
  const { all = false } = flags
  const failure = login?.accessToken === undefined ? null : await revoke(context, all)
  const left = context.config.servers.has(server.url)
    ? await store.update(config => without(config, context))
    : context.config
  const revoked = login?.accessToken !== undefined && failure === null
  if (all && failure !== null) throw notAllEnded(context, failure)
  if (failure !== null) output.warn(describe(context, failure))
  await output.result('', { registry: server.url, username: login?.username ?? null, revoked, all })
  if (login?.accessToken === undefined) output.note(`not logged in to ${server.url}`)
  else output.note(`logged out of ${server.url}${all ? ', on every machine' : ''}`)
  noteNext(context, left)
  const variable = overridingVariable(env)
  if (variable !== null) output.warn(`${variable} is still set: commands go on using its token`)
}

/** A login that another user made meanwhile stays. */
function without(config: Config, { server: { url }, login }: AccountContext): Config {
  const isSame = savedLogin(config, url)?.username === login?.username
  return isSame ? withoutLogin(config, url) : config
}

/** Says which accounts server commands use from now on, when it is another one. */
function noteNext({ server, output, env }: AccountContext, left: Config): void {
  const next = left.defaultServer ?? onlyLogin(left)
  const isNamed = (env.SERVICE_REGISTRY ?? '').trim() !== ''
  if (next !== undefined && next !== server.url && !isNamed) {
    output.note(`commands now go to ${next}`)
  }
}

/** Null when the session is over, else why it may not be. */
async function revoke(context: AccountContext, all: boolean): Promise<ServiceError | null> {
  try {
    const { client, withSaved } = connect(context)
    await withSaved(token => client.logout(token, { all }))
    return null
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    // It had ended before. Others of the account may not have.
    if (!all && ['auth_required', 'auth_refused'].includes(error.code)) return null
    return error
  }
}

function describe({ server }: AccountContext, failure: ServiceError): string {
  const { message } = failure
  return isNotOffered(failure)
    ? `${server.origin} has no logout: the token was deleted here, and works until it expires`
    : `the token was deleted here, and may work until it expires: ${message}`
}

function notAllEnded({ server }: AccountContext, { code, message, data }: ServiceError): Error {
  return new ServiceError(code, `logged out here, but not everywhere: ${message}`, {
    hint: `log in to ${server.url} again, and repeat logout --all`,
    data,
  })
}
