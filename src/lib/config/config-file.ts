import { parse, stringify, TomlError, type TomlTable, type TomlValue } from 'smol-toml'
import { type ServiceError, unusableFile } from '../util/errors.ts'
import { Secret } from '../util/secret.ts'
import { parseRfc3339, toRfc3339 } from '../util/time.ts'
import { parseAccountsUrl } from './accounts-url.ts'

/** A saved login. Times are milliseconds since the epoch. */
export interface SavedLogin {
  readonly username?: string
  readonly email?: string
  readonly accessToken?: Secret
  readonly accessExpiresAtMs?: number
  readonly refreshToken?: Secret
  readonly refreshExpiresAtMs?: number
}

/** What is saved for one accounts server. */
export interface ServerEntry {
  readonly login?: SavedLogin
  /** Unknown members, written back as they were. */
  readonly others?: TomlTable
}

/** The content of the configuration file; servers are keyed by `AccountsUrl.url`. */
export interface Config {
  readonly defaultServer?: string
  readonly servers: ReadonlyMap<string, ServerEntry>
  readonly others?: TomlTable
}

export const emptyConfig: Config = { servers: new Map() }

const head =
  '# Managed by service-cli: keys are kept, comments are not. Holds tokens: do not share it.\n'

/** Throws `config_invalid` with the place and without the text, which may hold a token. */
export function parseConfig(text: string, path: string): Config {
  const top = new TableReader(parseToml(text, path), '', path)
  const defaultServer = top.text('default_registry')
  const servers = new Map<string, ServerEntry>()
  const registries = new TableReader(top.take('registries') ?? {}, 'registries', path)
  for (const [address, table] of Object.entries(registries.others)) {
    const parsed = parseAccountsUrl(address)
    if (!parsed.ok) throw invalid(path, 'has a name in registries that is not a usable address')
    const { url } = parsed.value
    servers.set(url, readEntry(new TableReader(table, `registries."${url}"`, path)))
  }
  return { defaultServer, servers, others: top.others }
}

function parseToml(text: string, path: string): TomlTable {
  try {
    return parse(text, { integersAsBigInt: 'asNeeded' })
  } catch (error) {
    const place = error instanceof TomlError ? `:${error.line}:${error.column}` : ''
    throw invalid(path, 'is not valid TOML', place)
  }
}

function invalid(path: string, what: string, place = ''): ServiceError {
  return unusableFile(path + place, what, `correct it, or move ${path} away and log in again`)
}

function readEntry(table: TableReader): ServerEntry {
  const login = {
    username: table.text('username'),
    email: table.text('email'),
    accessToken: table.token('access_token'),
    accessExpiresAtMs: table.time('access_expires_at'),
    refreshToken: table.token('refresh_token'),
    refreshExpiresAtMs: table.time('refresh_expires_at'),
  }
  const hasLogin = Object.values(login).some(member => member !== undefined)
  return { login: hasLogin ? login : undefined, others: table.others }
}

/** Takes the known members out of a table. Empty text counts as absent. */
class TableReader {
  /** Members that were not taken. */
  readonly others: TomlTable
  readonly #name: string
  readonly #path: string

  constructor(table: TomlValue, name: string, path: string) {
    if (!isTable(table)) throw invalid(path, `has no table at ${name}`)
    this.others = { ...table }
    this.#name = name
    this.#path = path
  }

  take(key: string): TomlValue | undefined {
    const value = this.others[key]
    delete this.others[key]
    return value
  }

  text(key: string): string | undefined {
    const value = this.take(key)
    if (value === undefined || typeof value === 'string') return value || undefined
    throw this.#invalid('no text', key)
  }

  token(key: string): Secret | undefined {
    const text = this.text(key)
    if (text === undefined) return undefined
    // Visible ASCII, as a header can carry it.
    if (!/^[\x21-\x7e]+$/.test(text)) throw this.#invalid('no usable token', key)
    return new Secret(text)
  }

  time(key: string): number | undefined {
    const text = this.text(key)
    const timeMs = text === undefined ? undefined : parseRfc3339(text)
    if (timeMs === null) throw this.#invalid('no RFC 3339 time', key)
    return timeMs
  }

  #invalid(what: string, key: string): ServiceError {
    return invalid(this.#path, `has ${what} at ${this.#name === '' ? key : `${this.#name}.${key}`}`)
  }
}

function isTable(value: TomlValue): value is TomlTable {
  return typeof value === 'object' && !Array.isArray(value) && !(value instanceof Date)
}

/** The text of the file, with every token. */
export function formatConfig({ defaultServer, servers, others }: Config): string {
  const registries = Object.fromEntries(
    Array.from(servers, ([url, entry]) => [url, formatEntry(entry)]),
  )
  return head + stringify({ default_registry: defaultServer, ...others, registries })
}

function formatEntry({ login = {}, others }: ServerEntry): object {
  const { accessExpiresAtMs, refreshExpiresAtMs } = login
  return {
    username: login.username,
    email: login.email,
    access_token: login.accessToken?.reveal(),
    access_expires_at: accessExpiresAtMs && toRfc3339(accessExpiresAtMs),
    refresh_token: login.refreshToken?.reveal(),
    refresh_expires_at: refreshExpiresAtMs && toRfc3339(refreshExpiresAtMs),
    ...others,
  }
}

/** The saved login of an accounts server. */
export function savedLogin({ servers }: Config, url: string): SavedLogin | undefined {
  return servers.get(url)?.login
}

/** The only accounts server with a login; it is the default where none is named. */
export function onlyLogin({ servers }: Config): string | undefined {
  const live = Array.from(servers).filter(([, { login }]) => login?.accessToken !== undefined)
  return live.length === 1 ? live[0]?.[0] : undefined
}

/** Replaces the login. The first accounts server becomes the default. */
export function withLogin(config: Config, url: string, login: SavedLogin): Config {
  return { ...withEntry(config, url, { login }), defaultServer: config.defaultServer ?? url }
}

/** Fresh tokens of the same login. A refresh token stays unless a new one came. */
export function withTokens(config: Config, url: string, tokens: SavedLogin): Config {
  const { refreshToken, refreshExpiresAtMs, ...access } = tokens
  const refresh = refreshToken === undefined ? {} : { refreshToken, refreshExpiresAtMs }
  const login = { ...savedLogin(config, url), ...access, ...refresh }
  return withEntry(config, url, { login })
}

/** Removes the tokens of a login; its names stay. */
export function withoutTokens(config: Config, url: string): Config {
  const login = savedLogin(config, url)
  if (login === undefined) return config
  return withEntry(config, url, { login: { username: login.username, email: login.email } })
}

/** Removes a login. An entry without unknown members goes, and is no longer the default. */
export function withoutLogin(config: Config, url: string): Config {
  const entry = config.servers.get(url)
  if (entry === undefined) return config
  if (Object.keys(entry.others ?? {}).length > 0)
    return withEntry(config, url, { login: undefined })
  const servers = new Map(config.servers)
  servers.delete(url)
  const defaultServer = config.defaultServer === url ? undefined : config.defaultServer
  return { ...config, servers, defaultServer }
}

function withEntry(config: Config, url: string, change: ServerEntry): Config {
  const entry = { ...config.servers.get(url), ...change }
  return { ...config, servers: new Map(config.servers).set(url, entry) }
}
