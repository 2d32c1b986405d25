import type { Secret } from '../util/secret.ts'
import type { Config, RegistryEntry, SavedLogin } from './config-file.ts'

/** Tokens as a registry gave them; absent ones were not given. */
interface SavedTokens {
  readonly accessToken: Secret
  readonly accessExpiresAtMs?: number | undefined
  readonly refreshToken?: Secret | undefined
  readonly refreshExpiresAtMs?: number | undefined
}

/** Bounds the file when a script logs in to ever more accounts. */
const maxOtherAccounts = 20

/**
 * The login of an account, named by user name or email address. Without one the newest that has not
 * ended, or the newest when all have.
 */
export function savedLogin(config: Config, url: string, account?: string): SavedLogin | undefined {
  const entry = config.registries.get(url)
  if (entry === undefined) return undefined
  if (account === undefined) return allLogins(entry)[0] ?? entry
  if (isOf(entry, account)) return entry
  return entry.accounts?.find(login => isOf(login, account))
}

/** Every saved login of a registry that has not ended, newest first. */
export function allLogins(entry: RegistryEntry): readonly SavedLogin[] {
  return [entry, ...(entry.accounts ?? [])].filter(({ accessToken }) => accessToken !== undefined)
}

/**
 * Adds a login as the newest. Replaces an earlier login of the same account; keeps others and
 * manual settings.
 */
export function withLogin(
  config: Config,
  url: string,
  who: { readonly username?: string | undefined; readonly email?: string | undefined },
  tokens: SavedTokens,
): Config {
  const before = config.registries.get(url) ?? {}
  const { username, email } = who
  const accounts = allLogins(before)
    .filter(login => login.username !== undefined && !isOf(login, username))
    .map(pickLogin)
    .slice(0, maxOtherAccounts)
  const login = { username, email, ...pick(tokens) }
  const entry = withAccounts({ ...login, ...registrySettings(before) }, accounts)
  return { ...withEntry(config, url, entry), defaultRegistry: config.defaultRegistry ?? url }
}

/** Fresh tokens of the same login. A refresh token stays unless a new one came. */
export function withTokens(
  config: Config,
  url: string,
  tokens: SavedTokens,
  account?: string,
): Config {
  const { refreshToken, refreshExpiresAtMs, ...access } = pick(tokens)
  const refresh = refreshToken === undefined ? {} : { refreshToken, refreshExpiresAtMs }
  return changeLogin(config, url, account, login => ({ ...login, ...access, ...refresh }))
}

/** Removes the tokens of a login; user name and manual settings stay. */
export function withoutTokens(config: Config, url: string, account?: string): Config {
  if (savedLogin(config, url, account) === undefined) return config
  return changeLogin(config, url, account, login => {
    const { accessToken, accessExpiresAtMs, refreshToken, refreshExpiresAtMs, ...rest } = login
    return rest
  })
}

/**
 * Removes a login; the next newest takes its place. An empty entry is removed and is no longer the
 * default.
 */
export function withoutLogin(config: Config, url: string, account?: string): Config {
  const entry = config.registries.get(url)
  if (entry === undefined) return config
  const { accounts = [] } = entry
  if (account !== undefined && !isOf(entry, account)) {
    const left = accounts.filter(login => !isOf(login, account))
    return withEntry(config, url, withAccounts(entry, left))
  }
  const [next, ...others] = accounts
  if (next !== undefined) {
    return withEntry(config, url, withAccounts({ ...next, ...registrySettings(entry) }, others))
  }
  const { caFile, others: unknown } = entry
  const isKept = caFile !== undefined || Object.keys(unknown ?? {}).length > 0
  const registries = new Map(config.registries)
  if (isKept) registries.set(url, registrySettings(entry))
  else registries.delete(url)
  const after = { ...config, registries }
  const isDefault = config.defaultRegistry === url
  // What was set by hand stays the default while no other login could be.
  if (!isDefault || (isKept && onlyLogin(after) === undefined)) return after
  return { ...after, defaultRegistry: undefined }
}

/** The only registry with a saved login: the default where none is named. */
export function onlyLogin({ registries }: Config): string | undefined {
  const urls = Array.from(registries)
    .filter(([, entry]) => allLogins(entry).length > 0)
    .map(([url]) => url)
  return urls.length === 1 ? urls[0] : undefined
}

/** Does the login belong to the account, named by user name or email address? */
function isOf({ username, email }: SavedLogin, account: string | undefined): boolean {
  const wanted = account?.toLowerCase()
  return wanted !== undefined && [username, email].some(name => name?.toLowerCase() === wanted)
}

/** Are these the same token, or both none? */
export function isSameToken(one: Secret | undefined, other: Secret | undefined): boolean {
  if (one === undefined || other === undefined) return one === other
  return one.equals(other.reveal())
}

function withEntry(config: Config, url: string, entry: RegistryEntry): Config {
  return { ...config, registries: new Map(config.registries).set(url, entry) }
}

function changeLogin(
  config: Config,
  url: string,
  account: string | undefined,
  change: (login: SavedLogin) => SavedLogin,
): Config {
  const entry = config.registries.get(url) ?? {}
  if (account === undefined || isOf(entry, account)) {
    const { accounts } = entry
    const changed = { ...change(pickLogin(entry)), ...registrySettings(entry) }
    return withEntry(config, url, accounts === undefined ? changed : { ...changed, accounts })
  }
  const accounts = entry.accounts?.map(login => (isOf(login, account) ? change(login) : login))
  return withEntry(config, url, withAccounts(entry, accounts ?? []))
}

function withAccounts(
  { accounts, ...entry }: RegistryEntry,
  others: readonly SavedLogin[],
): RegistryEntry {
  return others.length === 0 ? entry : { ...entry, accounts: others }
}

/** What belongs to the registry and not to a login. */
function registrySettings({ caFile, others }: RegistryEntry): RegistryEntry {
  return { caFile, others }
}

function pickLogin(login: SavedLogin): SavedLogin {
  return { username: login.username, email: login.email, ...pickTokens(login) }
}

function pickTokens({
  accessToken,
  accessExpiresAtMs,
  refreshToken,
  refreshExpiresAtMs,
}: SavedLogin) {
  return { accessToken, accessExpiresAtMs, refreshToken, refreshExpiresAtMs }
}

function pick(tokens: SavedTokens): SavedTokens {
  return { ...pickTokens(tokens), accessToken: tokens.accessToken }
}
