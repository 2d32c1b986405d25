import type { Secret } from '../util/secret.ts'
import type { Config, SavedLogin, ServerEntry } from './config-file.ts'

/** The saved login of an accounts server; with `username` only when it is of that user. */
export function savedLogin(config: Config, url: string, username?: string): SavedLogin | undefined {
  const login = config.servers.get(url)?.login
  return username === undefined || login?.username === username ? login : undefined
}

/** The only accounts server with a login: the default where none is named. */
export function onlyLogin(config: Config): string | undefined {
  const urls = Array.from(config.servers.keys())
  const live = urls.filter(url => savedLogin(config, url)?.accessToken !== undefined)
  return live.length === 1 ? live[0] : undefined
}

/** Replaces the login. The first accounts server becomes the default. */
export function withLogin(config: Config, url: string, login: SavedLogin): Config {
  return { ...setLogin(config, url, login), defaultServer: config.defaultServer ?? url }
}

/** Fresh tokens of the same login. A refresh token stays unless a new one came. */
export function withTokens(config: Config, url: string, tokens: SavedLogin): Config {
  const { accessToken, accessExpiresAtMs, refreshToken, refreshExpiresAtMs } = tokens
  const refresh = refreshToken === undefined ? {} : { refreshToken, refreshExpiresAtMs }
  const login = savedLogin(config, url)
  return setLogin(config, url, { ...login, accessToken, accessExpiresAtMs, ...refresh })
}

/** Removes the tokens of a login; its names stay. */
export function withoutTokens(config: Config, url: string): Config {
  const login = savedLogin(config, url)
  if (login === undefined) return config
  return setLogin(config, url, { username: login.username, email: login.email })
}

/**
 * Removes a login. Without manual settings the entry is removed too, and is no longer the default.
 */
export function withoutLogin(config: Config, url: string): Config {
  const entry = config.servers.get(url)
  if (entry === undefined) return config
  const { login: _, ...settings } = entry
  const isKept = settings.caFile !== undefined || Object.keys(settings.others ?? {}).length > 0
  const servers = new Map(config.servers)
  if (isKept) servers.set(url, settings)
  else servers.delete(url)
  const left = { ...config, servers }
  // Manual settings keep the default as long as no other login could be it.
  const isDefault = config.defaultServer === url && (!isKept || onlyLogin(left) !== undefined)
  return isDefault ? { ...left, defaultServer: undefined } : left
}

/** Whether these are the same token, or both absent. */
export function isSameToken(one: Secret | undefined, other: Secret | undefined): boolean {
  if (one === undefined || other === undefined) return one === other
  return one.equals(other.reveal())
}

function setLogin(config: Config, url: string, login: SavedLogin): Config {
  const entry: ServerEntry = { ...config.servers.get(url), login }
  return { ...config, servers: new Map(config.servers).set(url, entry) }
}
