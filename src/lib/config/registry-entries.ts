import type { Secret } from '../secret.ts'
import type { Config, RegistryEntry } from './config-file.ts'

/** Tokens as a registry gave them; absent ones were not given. */
export interface SavedTokens {
  readonly accessToken: Secret
  readonly accessExpiresAtMs?: number | undefined
  readonly refreshToken?: Secret | undefined
  readonly refreshExpiresAtMs?: number | undefined
}

/** Someone logged in: what was kept of another account goes, what was set by hand stays. */
export function withLogin(
  config: Config,
  url: string,
  who: { readonly username?: string | undefined; readonly email?: string | undefined },
  tokens: SavedTokens,
): Config {
  const { caFile, others } = config.registries.get(url) ?? {}
  const { username, email } = who
  const entry: RegistryEntry = { username, email, ...pick(tokens), caFile, others }
  return { ...withEntry(config, url, entry), defaultRegistry: config.defaultRegistry ?? url }
}

/** Fresh tokens of the same login. A refresh token stays unless a new one came. */
export function withTokens(config: Config, url: string, tokens: SavedTokens): Config {
  const entry = config.registries.get(url) ?? {}
  const { refreshToken, refreshExpiresAtMs, ...access } = pick(tokens)
  const refresh = refreshToken === undefined ? {} : { refreshToken, refreshExpiresAtMs }
  return withEntry(config, url, { ...entry, ...access, ...refresh })
}

/** Nobody is logged in any more; what was set by hand and who it was stay. */
export function withoutTokens(config: Config, url: string): Config {
  const entry = config.registries.get(url)
  if (entry === undefined) return config
  const { accessToken, accessExpiresAtMs, refreshToken, refreshExpiresAtMs, ...rest } = entry
  return withEntry(config, url, rest)
}

/**
 * Logged out: nothing of the login stays. An entry with nothing else in it goes, and is not the
 * default any more.
 */
export function withoutLogin(config: Config, url: string): Config {
  const entry = config.registries.get(url)
  if (entry === undefined) return config
  const { caFile, others } = entry
  const isKept = caFile !== undefined || Object.keys(others ?? {}).length > 0
  const registries = new Map(config.registries)
  if (isKept) registries.set(url, { caFile, others })
  else registries.delete(url)
  const after = { ...config, registries }
  const isDefault = config.defaultRegistry === url
  // What was set by hand stays the default while no other login could be.
  if (!isDefault || (isKept && onlyLogin(after) === undefined)) return after
  return { ...after, defaultRegistry: undefined }
}

/** The registry of the only saved login: the default where none is named. */
export function onlyLogin({ registries }: Config): string | undefined {
  const urls = Array.from(registries)
    .filter(([, { accessToken }]) => accessToken !== undefined)
    .map(([url]) => url)
  return urls.length === 1 ? urls[0] : undefined
}

/** Are these the same token, or both none? */
export function isSameToken(one: Secret | undefined, other: Secret | undefined): boolean {
  if (one === undefined || other === undefined) return one === other
  return one.equals(other.reveal())
}

function withEntry(config: Config, url: string, entry: RegistryEntry): Config {
  return { ...config, registries: new Map(config.registries).set(url, entry) }
}

function pick(tokens: SavedTokens): SavedTokens {
  const { accessToken, accessExpiresAtMs, refreshToken, refreshExpiresAtMs } = tokens
  return { accessToken, accessExpiresAtMs, refreshToken, refreshExpiresAtMs }
}
