import { readFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import type { Login } from '../../lib/accounts/client.ts'
import {
  notLoggedIn,
  readGivenToken,
  withGivenToken,
  withSavedToken,
  type TokenSource,
} from '../../lib/accounts/token.ts'
import { type Output, processOutput } from '../../lib/cli/output.ts'
import { type AccountsUrl, requireAccountsUrl } from '../../lib/config/accounts-url.ts'
import {
  type Config,
  emptyConfig,
  onlyLogin,
  type SavedLogin,
  savedLogin,
  withLogin,
} from '../../lib/config/config-file.ts'
import { ConfigStore } from '../../lib/config/config-store.ts'
import { configPath } from '../../lib/config/paths.ts'
import { expiryText } from '../../lib/util/amounts.ts'
import { readProblem, ServiceError } from '../../lib/util/errors.ts'
import type { Secret } from '../../lib/util/secret.ts'
import { rfc3339OrNull } from '../../lib/util/time.ts'

/** Where `service-cli registry` listens by default. */
const defaultServer = 'http://127.0.0.1:8780'

export interface AccountFlags {
  readonly registry?: string
  readonly token?: string
  readonly json?: boolean
  readonly quiet?: boolean
}

/** What a command that saves or ends a login works with. */
export type AccountContext = Awaited<ReturnType<typeof openAccount>>

/** Throws `usage_invalid` for an invalid address, `config_invalid` for an invalid file. */
export async function openAccount(flags: AccountFlags) {
  const store = new ConfigStore(configPath(process.env))
  const config = await store.read()
  const { server, client } = await connect(flags, config, store.path)
  const login = savedLogin(config, server.url)
  return { server, client, output: openOutput(flags), store, login }
}

/** What a command works with that uses a token: one that was given, or the saved login. */
export interface TokenContext extends Pick<AccountContext, 'server' | 'client' | 'output'> {
  readonly source: TokenSource
  /** Calls with the token, which is refreshed when that is due and possible. */
  withToken<T>(call: (token: Secret) => Promise<T>): Promise<T>
  /** The login that the token is of, as it is saved now; undefined for a given token. */
  savedLogin(): Promise<SavedLogin | undefined>
}

/** A given token needs no file. Throws as `openAccount`, and `auth_required` without any token. */
export async function openToken(flags: AccountFlags): Promise<TokenContext> {
  const given = await readGivenToken(flags.token, process.env)
  if (given !== null) {
    const output = openOutput(flags)
    const { config, path } = await readSettings(output)
    const { server, client } = await connect(flags, config, path)
    const withToken: TokenContext['withToken'] = call => withGivenToken(given, call)
    return { server, client, output, source: given, withToken, savedLogin: async () => undefined }
  }
  const { server, client, output, store, login } = await openAccount(flags)
  if (login?.accessToken === undefined) throw notLoggedIn(server)
  return {
    server,
    client,
    output,
    source: { source: 'config', name: store.path },
    withToken: call => withSavedToken(client, store, call),
    savedLogin: async () => savedLogin(await store.read(), server.url),
  }
}

function openOutput({ json = false, quiet = false }: AccountFlags): Output {
  return processOutput({ json, quiet })
}

/** For a given token: a file that cannot be used is named in a warning. */
async function readSettings(output: Output): Promise<{ config: Config; path: string }> {
  let path = ''
  try {
    path = configPath(process.env)
    return { config: await new ConfigStore(path).read(true), path }
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    if (path !== '') output.warn(`${error.message}; its settings are not used`)
    return { config: emptyConfig, path }
  }
}

async function connect(flags: AccountFlags, config: Config, path: string) {
  const server = selectServer(flags, config, path)
  const { caFile } = config.servers.get(server.url) ?? {}
  const certificates =
    caFile === undefined ? undefined : await readCertificates(resolve(dirname(path), caFile))
  // Loading the HTTP client takes as long as all else of a command.
  const { AccountsClient } = await import('../../lib/accounts/client.ts')
  return { server, client: new AccountsClient(server, { env: process.env, certificates }) }
}

/**
 * `--registry`, then `SERVICE_REGISTRY`, then `default_registry` of the file, then its only login,
 * then the server of this machine. An empty text counts as absent.
 */
function selectServer(flags: AccountFlags, config: Config, path: string): AccountsUrl {
  const named: [text: string | undefined, source: string][] = [
    [flags.registry, '--registry'],
    [process.env.SERVICE_REGISTRY, 'SERVICE_REGISTRY'],
    [config.defaultServer, `default_registry in ${path}`],
    [onlyLogin(config), `the only login in ${path}`],
  ]
  const [text = defaultServer, source = ''] = named.find(([value = '']) => value.trim()) ?? []
  return requireAccountsUrl(text, source)
}

/** The authorities of `ca_file` beside those that Node trusts. */
async function readCertificates(path: string): Promise<string[]> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    const message = `ca_file ${path} cannot be read: ${readProblem(error)}`
    const hint = 'name a file of certificates in PEM form'
    throw new ServiceError('config_invalid', message, { hint })
  })
  const { getCACertificates } = await import('node:tls')
  return [...getCACertificates('default'), text]
}

/** Saves a login in place of the one before, and says who is logged in and until when. */
export async function saveLogin(
  { server, output, store }: AccountContext,
  login: Login,
  more: object = {},
): Promise<void> {
  const { defaultServer: other } = await store.update(config =>
    withLogin(config, server.url, login),
  )
  const { username, email, accessExpiresAtMs, refreshExpiresAtMs } = login
  const variable = overridingVariable()
  await output.result('', {
    registry: server.url,
    username,
    email: email ?? null,
    expires_at: rfc3339OrNull(accessExpiresAtMs),
    refresh_expires_at: rfc3339OrNull(refreshExpiresAtMs),
    saved_in: store.path,
    overridden_by: variable ?? null,
    ...more,
  })
  const until =
    accessExpiresAtMs === undefined
      ? ''
      : `, the token ${expiryText(accessExpiresAtMs, Date.now())}`
  output.note(`logged in to ${server.url} as ${username}${until}`)
  if (other !== undefined && other !== server.url) {
    output.note(`commands go to ${other} unless --registry or SERVICE_REGISTRY is given`)
  }
  if (variable !== undefined) {
    output.warn(`${variable} is set and goes before the saved login: unset ${variable} to use it`)
  }
}

/** The variable that commands take the token of. */
export function overridingVariable(): string | undefined {
  const names = ['SERVICE_TOKEN', 'SERVICE_TOKEN_FILE']
  return names.find(name => (process.env[name] ?? '').trim() !== '')
}

/** An error with another hint. */
export function withHint({ code, message, data }: ServiceError, hint: string): ServiceError {
  return new ServiceError(code, message, { hint, data })
}
