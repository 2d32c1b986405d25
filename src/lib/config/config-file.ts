import { dirname, join, resolve } from 'node:path'
import { parse, stringify, TomlError } from 'smol-toml'
import { z } from 'zod'
import { type ServiceError, unusableFile } from '../util/errors.ts'
import { Secret } from '../util/secret.ts'
import { toRfc3339 } from '../util/time.ts'
import { readPrivateFile, withFileLock, writePrivateFile } from './private-file.ts'

/** The content of the configuration file; logins are keyed by `AccountsUrl.url`. */
export interface Config {
  readonly defaultServer?: string
  readonly logins: ReadonlyMap<string, SavedLogin>
}

export const emptyConfig: Config = { logins: new Map() }

const text = z.string().optional()
const time = z.iso
  .datetime({ offset: true })
  .transform(text => Date.parse(text))
  .optional()
// Visible ASCII, as a header can carry it.
const token = z.string().regex(/^[\x21-\x7e]+$/)
const secret = token.transform(value => new Secret(value)).optional()

const login = z
  .strictObject({
    username: text,
    email: text,
    access_token: secret,
    access_expires_at: time,
    refresh_token: secret,
    refresh_expires_at: time,
  })
  .transform(table => ({
    username: table.username,
    email: table.email,
    accessToken: table.access_token,
    accessExpiresAtMs: table.access_expires_at,
    refreshToken: table.refresh_token,
    refreshExpiresAtMs: table.refresh_expires_at,
  }))

/** A saved login. Times are milliseconds since the epoch. */
export type SavedLogin = Readonly<Partial<z.output<typeof login>>>

const configFile = z.strictObject({
  default_registry: text,
  registries: z.record(z.string(), login).default({}),
})

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
  if (data !== undefined) {
    const { default_registry: defaultServer, registries } = data
    return { defaultServer, logins: new Map(Object.entries(registries)) }
  }
  const [issue] = error.issues
  const keys = issue?.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : []
  const place = z.core.toDotPath([...(issue?.path ?? []), ...keys])
  throw invalid(path, `has ${keys.length > 0 ? 'an unknown key' : 'an invalid value'}: ${place}`)
}

function invalid(path: string, what: string, place = ''): ServiceError {
  return unusableFile(path + place, what, `correct it, or move ${path} away and log in again`)
}

/** The text of the file, with every token. */
export function formatConfig({ defaultServer, logins }: Config): string {
  const registries = Array.from(logins, ([url, saved]) => {
    const { accessExpiresAtMs, refreshExpiresAtMs } = saved
    const table = {
      username: saved.username,
      email: saved.email,
      access_token: saved.accessToken?.reveal(),
      access_expires_at: accessExpiresAtMs && toRfc3339(accessExpiresAtMs),
      refresh_token: saved.refreshToken?.reveal(),
      refresh_expires_at: refreshExpiresAtMs && toRfc3339(refreshExpiresAtMs),
    }
    return [url, table]
  })
  const table = { default_registry: defaultServer, registries: Object.fromEntries(registries) }
  return head + stringify(table)
}

/** Replaces the login. The first accounts server becomes the default. */
export function withLogin(config: Config, url: string, saved: SavedLogin): Config {
  const logins = new Map(config.logins).set(url, saved)
  return { defaultServer: config.defaultServer ?? url, logins }
}

/** Removes a login. Its server stays the default unless there is a login to another one. */
export function withoutLogin(config: Config, url: string): Config {
  const logins = new Map(config.logins)
  if (!logins.delete(url)) return config
  const { defaultServer } = config
  const [other] = logins.keys()
  return { defaultServer: defaultServer === url && other ? other : defaultServer, logins }
}

/** The configuration file of one user, shared by all commands that run at the same time. */
export class ConfigStore {
  readonly path: string

  constructor(path: string) {
    this.path = resolve(path)
  }

  /**
   * An empty configuration when there is no file. With `mounted` also of root, and a pipe. Throws
   * `config_invalid`.
   */
  async read(mounted = false): Promise<Config> {
    const text = await readPrivateFile(this.path, { mounted })
    return text === null ? emptyConfig : parseConfig(text, this.path)
  }

  /**
   * Reads, changes and writes under the lock. Nothing is written when `change` returns what it got.
   * Throws `config_busy`, `storage_failed`, `storage_full`; then the file is as before.
   */
  async update(change: (config: Config) => Config | Promise<Config>): Promise<Config> {
    return withFileLock(join(dirname(this.path), 'config.lock'), async () => {
      const before = await this.read()
      const after = await change(before)
      if (after !== before) await writePrivateFile(this.path, formatConfig(after))
      return after
    })
  }
}
