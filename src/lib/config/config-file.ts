import { type TomlTable, type TomlValue, TomlDate, TomlError, parse, stringify } from 'smol-toml'
import { isTokenText } from '../auth/validate-bearer-token.ts'
import { parseRfc3339, toRfc3339 } from '../util/time.ts'
import { parseAccountsUrl } from './accounts-url.ts'
import { type Result, fail, ok } from '../util/result.ts'
import { Secret } from '../util/secret.ts'

/** A saved login. Times are milliseconds of the epoch. */
export interface SavedLogin {
  /** The user who logged in, shown without a request. */
  readonly username?: string
  readonly email?: string
  readonly accessToken?: Secret
  readonly accessExpiresAtMs?: number
  readonly refreshToken?: Secret
  readonly refreshExpiresAtMs?: number
}

/** What is kept of one accounts server. */
export interface ServerEntry {
  readonly login?: SavedLogin
  /** Certificates (PEM) to trust for this server beside the usual ones. */
  readonly caFile?: string
  /** Members that this version does not know; written back as they were. */
  readonly others?: Readonly<TomlTable>
}

/**
 * The configuration file, typed. Registries are keyed by their one spelling (`AccountsUrl.url`).
 */
export interface Config {
  readonly defaultServer?: string
  readonly servers: ReadonlyMap<string, ServerEntry>
  readonly others?: Readonly<TomlTable>
}

/** Why a file is none of ours. Says where, never what stands there: it may be a token. */
export interface ConfigFault {
  readonly what: string
  readonly line?: number
  readonly column?: number
}

export const emptyConfig: Config = { servers: new Map() }

const version = 1n
const maxDepth = 32
const head =
  '# Managed by service-cli: keys are kept, comments are not. Holds tokens: do not share it.\n'

/** The typed content of a configuration file. */
export function parseConfig(text: string): Result<Config, ConfigFault> {
  let table: TomlTable
  try {
    table = parse(text, { integersAsBigInt: true, unsafeKeyBehaviour: 'throw', maxDepth })
  } catch (error) {
    // The message of the parser quotes the line.
    if (!(error instanceof TomlError)) return fail({ what: 'is not valid TOML' })
    return fail({ what: 'is not valid TOML', line: error.line, column: error.column })
  }
  try {
    return ok(readConfig(table))
  } catch (error) {
    if (error instanceof Fault) return fail({ what: error.message })
    throw error
  }
}

class Fault extends Error {}

function readConfig(table: TomlTable): Config {
  const { version: found = version, default_registry, registries = {}, ...others } = table
  if (typeof found !== 'bigint') throw new Fault('has a version that is no whole number')
  if (found > version) {
    throw new Fault(`was written by a newer service-cli (version ${found}, known is ${version})`)
  }
  if (!isTable(registries)) throw new Fault('has something else than a table as registries')
  const entries = new Map<string, ServerEntry>()
  for (const [key, value] of Object.entries(registries)) {
    const parsed = parseAccountsUrl(key)
    // Not repeated: an address may hold a password.
    if (!parsed.ok)
      throw new Fault('has an entry of registries whose name is no address of an accounts server')
    const { url } = parsed.value
    if (!isTable(value)) throw new Fault(`has something else than a table as registries."${url}"`)
    if (entries.has(url)) throw new Fault(`has registries."${url}" twice, in two spellings`)
    entries.set(url, readEntry(value, `registries."${url}".`))
  }
  const defaultServer = readText(default_registry, 'default_registry')
  return { defaultServer, servers: entries, others }
}

function readEntry(table: TomlTable, at: string): ServerEntry {
  const {
    username,
    email,
    access_token,
    access_expires_at,
    refresh_token,
    refresh_expires_at,
    ca_file,
    ...others
  } = table
  const login = {
    username: readText(username, `${at}username`),
    email: readText(email, `${at}email`),
    accessToken: readToken(access_token, `${at}access_token`),
    accessExpiresAtMs: readTime(access_expires_at, `${at}access_expires_at`),
    refreshToken: readToken(refresh_token, `${at}refresh_token`),
    refreshExpiresAtMs: readTime(refresh_expires_at, `${at}refresh_expires_at`),
  }
  // An entry with manual settings alone holds no login.
  const isSome = Object.values(login).some(value => value !== undefined)
  const caFile = readText(ca_file, `${at}ca_file`)
  return { login: isSome ? login : undefined, caFile, others }
}

function isTable(value: TomlValue | undefined): value is TomlTable {
  return (
    (typeof value === 'object' && !Array.isArray(value) && Object.getPrototypeOf(value) === null) ||
    (typeof value === 'object' && Object.getPrototypeOf(value) === Object.prototype)
  )
}

function readText(value: TomlValue | undefined, name: string): string | undefined {
  if (value === undefined || value === '') return undefined
  if (typeof value !== 'string') throw new Fault(`has something else than a text as ${name}`)
  return value
}

function readToken(value: TomlValue | undefined, name: string): Secret | undefined {
  const text = readText(value, name)
  if (text === undefined) return undefined
  if (!isTokenText(text)) {
    throw new Fault(`has spaces or characters that are in no token as ${name}`)
  }
  return new Secret(text)
}

/** A text as this program writes it, or a date of TOML as a person may. */
function readTime(value: TomlValue | undefined, name: string): number | undefined {
  if (value === undefined || value === '') return undefined
  const timeMs =
    value instanceof TomlDate && !value.isLocal()
      ? value.getTime()
      : typeof value === 'string'
        ? parseRfc3339(value)
        : null
  if (timeMs === null) throw new Fault(`has no RFC 3339 time as ${name}`)
  return timeMs
}

/** The text of the file. Every token stands in it: for the file alone. */
export function formatConfig(config: Config): string {
  const registries: TomlTable = {}
  for (const [url, entry] of config.servers) registries[url] = formatEntry(entry)
  const table = withoutAbsent({
    version,
    default_registry: config.defaultServer,
    ...config.others,
    registries,
  })
  return head + stringify(table, { numbersAsFloat: true, maxDepth: maxDepth + 8 })
}

function formatEntry(entry: ServerEntry): TomlTable {
  const { login, caFile, others } = entry
  return withoutAbsent({
    username: login?.username,
    email: login?.email,
    access_token: login?.accessToken?.reveal(),
    access_expires_at: formatTime(login?.accessExpiresAtMs),
    refresh_token: login?.refreshToken?.reveal(),
    refresh_expires_at: formatTime(login?.refreshExpiresAtMs),
    ca_file: caFile,
    ...others,
  })
}

function formatTime(timeMs: number | undefined): string | undefined {
  return timeMs === undefined ? undefined : toRfc3339(timeMs)
}

function withoutAbsent(table: Record<string, TomlValue | undefined>): TomlTable {
  const kept: TomlTable = {}
  for (const [key, value] of Object.entries(table)) if (value !== undefined) kept[key] = value
  return kept
}
