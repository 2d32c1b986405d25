import type { Secret } from '../util/secret.ts'
import type { Config, SavedLogin, ServerEntry } from './config-file.ts'

/** Bounds the file when a script logs in to ever more accounts. */
const maxLogins = 21

/**
 * The login of an account, named by user name or email address. Without one the newest that has not
 * ended, or the newest when all have.
 */
export function savedLogin(config: Config, url: string, account?: string): SavedLogin | undefined {
  const logins = loginsOf(config, url)
  if (account !== undefined) return logins.find(login => isOf(login, account))
  return logins.find(isLive) ?? logins[0]
}

/** Every saved login of an accounts server that has not ended, newest first. */
export function liveLogins(config: Config, url: string): readonly SavedLogin[] {
  return loginsOf(config, url).filter(isLive)
}

/** The only accounts server with a login: the default where none is named. */
export function onlyLogin(config: Config): string | undefined {
  const urls = Array.from(config.servers.keys()).filter(url => liveLogins(config, url).length > 0)
  return urls.length === 1 ? urls[0] : undefined
}

/** Adds a login as the newest. Replaces an earlier one of the same account and drops ended ones. */
export function withLogin(
  config: Config,
  url: string,
  who: Pick<SavedLogin, 'username' | 'email'>,
  tokens: Omit<SavedLogin, 'username' | 'email'>,
): Config {
  const others = liveLogins(config, url).filter(
    other => other.username !== undefined && !isOf(other, who.username),
  )
  const after = withLogins(config, url, [{ ...who, ...tokens }, ...others].slice(0, maxLogins))
  return { ...after, defaultServer: config.defaultServer ?? url }
}

/** Fresh tokens of the same login. A refresh token stays unless a new one came. */
export function withTokens(
  config: Config,
  url: string,
  tokens: SavedLogin,
  account?: string,
): Config {
  const { accessToken, accessExpiresAtMs, refreshToken, refreshExpiresAtMs } = tokens
  const refresh = refreshToken === undefined ? {} : { refreshToken, refreshExpiresAtMs }
  return changeLogin(config, url, account, login => [
    { ...login, accessToken, accessExpiresAtMs, ...refresh },
  ])
}

/** Removes the tokens of a login; its names stay. */
export function withoutTokens(config: Config, url: string, account?: string): Config {
  return changeLogin(config, url, account, ({ username, email }) => [{ username, email }])
}

/**
 * Removes a login. Without further logins and manual settings the entry is removed too, and is no
 * longer the default.
 */
export function withoutLogin(config: Config, url: string, account?: string): Config {
  if (!config.servers.has(url)) return config
  const after = changeLogin(config, url, account, () => [])
  const { logins = [], caFile, others = {} } = after.servers.get(url) ?? {}
  if (logins.length > 0) return after
  const isKept = caFile !== undefined || Object.keys(others).length > 0
  const servers = new Map(after.servers)
  if (!isKept) servers.delete(url)
  const left = { ...after, servers }
  // Manual settings keep the default as long as no other login could be it.
  const isDefault = config.defaultServer === url && (!isKept || onlyLogin(left) !== undefined)
  return isDefault ? { ...left, defaultServer: undefined } : left
}

/** Whether these are the same token, or both absent. */
export function isSameToken(one: Secret | undefined, other: Secret | undefined): boolean {
  if (one === undefined || other === undefined) return one === other
  return one.equals(other.reveal())
}

function loginsOf(config: Config, url: string): readonly SavedLogin[] {
  return config.servers.get(url)?.logins ?? []
}

function isLive({ accessToken }: SavedLogin): boolean {
  return accessToken !== undefined
}

/** Whether the login belongs to the account, named by user name or email address. */
function isOf({ username, email }: SavedLogin, account: string | undefined): boolean {
  const wanted = account?.toLowerCase()
  return wanted !== undefined && [username, email].some(name => name?.toLowerCase() === wanted)
}

/** Replaces the login that `savedLogin` finds by what `change` returns. */
function changeLogin(
  config: Config,
  url: string,
  account: string | undefined,
  change: (login: SavedLogin) => SavedLogin[],
): Config {
  const found = savedLogin(config, url, account)
  if (found === undefined) return config
  const logins = loginsOf(config, url).flatMap(login => (login === found ? change(login) : login))
  return withLogins(config, url, logins)
}

function withLogins(config: Config, url: string, logins: SavedLogin[]): Config {
  const entry: ServerEntry = { ...config.servers.get(url), logins }
  return { ...config, servers: new Map(config.servers).set(url, entry) }
}
