import { dirname, join } from 'node:path'
import { parse, stringify, TomlError } from 'smol-toml'
import { z } from 'zod'
import { type ServiceError, unusableFile } from '../util/errors.ts'
import { Secret } from '../util/secret.ts'
import { toRfc3339 } from '../util/time.ts'
import { readPrivateFile, withFileLock, writePrivateFile } from './private-file.ts'

const text = z.string().optional()
const time = z
  .codec(z.iso.datetime({ offset: true }), z.number(), { decode: Date.parse, encode: toRfc3339 })
  .optional()
// Visible ASCII, as a header can carry it.
const token = z.string().regex(/^[\x21-\x7e]+$/)
const secret = z
  .codec(token, z.instanceof(Secret), {
    decode: value => new Secret(value),
    encode: value => value.reveal(),
  })
  .optional()

const login = z.strictObject({
  username: text,
  email: text,
  access_token: secret,
  access_expires_at: time,
  refresh_token: secret,
  refresh_expires_at: time,
})

const configFile = z.strictObject({
  default_registry: text,
  registries: z.record(z.string(), login).default({}),
})

/** A saved login, its members named as in the file. Times are milliseconds since the epoch. */
export type SavedLogin = Readonly<z.output<typeof login>>

/** The content of the configuration file; logins are keyed by `AccountsUrl.url`. */
export type Config = Readonly<z.output<typeof configFile>>

const head = '# Managed by service-cli: comments are not kept. Holds tokens: do not share it.\n'

/** Throws `config_invalid` with the place and without the text, which may hold a token. */
export function parseConfig(content: string, path: string): Config {
  let table: object
  try {
    table = parse(content)
  } catch (error) {
    const place = error instanceof TomlError ? `:${error.line}:${error.column}` : ''
    throw invalid(path, 'is not valid TOML', place)
  }
  const { data, error } = configFile.safeParse(table)
  if (data !== undefined) return data
  const [issue] = error.issues
  const keys = issue?.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : []
  const place = z.core.toDotPath([...(issue?.path ?? []), ...keys])
  throw invalid(path, `has ${keys.length > 0 ? 'an unknown key' : 'an invalid value'}: ${place}`)
}

function invalid(path: string, what: string, place = ''): ServiceError {
  return unusableFile(path + place, what, `correct it, or move ${path} away and log in again`)
}

/** The text of the file, with every token. */
export function formatConfig(config: Config): string {
  return head + stringify(z.encode(configFile, config))
}

/** Replaces the login. The first accounts server becomes the default. */
export function withLogin(config: Config, url: string, saved: SavedLogin): Config {
  const { default_registry = url, registries } = config
  return { default_registry, registries: { ...registries, [url]: saved } }
}

/** Removes a login. Its server stays the default unless there is a login to another one. */
export function withoutLogin(config: Config, url: string): Config {
  const { [url]: removed, ...registries } = config.registries
  if (removed === undefined) return config
  const { default_registry: before } = config
  const [other] = Object.keys(registries)
  return { default_registry: before === url && other ? other : before, registries }
}

/** An empty configuration when there is no file. Throws `config_invalid`. */
export async function readConfig(path: string): Promise<Config> {
  const text = await readPrivateFile(path)
  return text === null ? { registries: {} } : parseConfig(text, path)
}

/**
 * Reads, changes and writes under the lock. Nothing is written when `change` returns what it got.
 * Throws `config_busy`, `storage_failed`, `storage_full`; then the file is as before.
 */
export function updateConfig(
  path: string,
  change: (config: Config) => Config | Promise<Config>,
): Promise<Config> {
  return withFileLock(join(dirname(path), 'config.lock'), async () => {
    const before = await readConfig(path)
    const after = await change(before)
    if (after !== before) await writePrivateFile(path, formatConfig(after))
    return after
  })
}
