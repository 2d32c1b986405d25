import type { Login } from '../lib/accounts/client.ts'
import {
  notLoggedIn,
  readGivenToken,
  withGivenToken,
  withSavedToken,
  type TokenSource,
} from '../lib/accounts/token.ts'
import { type Output, processOutput } from '../lib/cli/output.ts'
import { requireAccountsUrl } from '../lib/config/accounts-url.ts'
import { type Config, readConfig, updateConfig, withLogin } from '../lib/config/config-file.ts'
import { configPath } from '../lib/config/paths.ts'
import { expiryText } from '../lib/util/amounts.ts'
import { ServiceError } from '../lib/util/errors.ts'
import type { Secret } from '../lib/util/secret.ts'
import { rfc3339OrNull } from '../lib/util/time.ts'
import { defaultPorts } from './default-ports.ts'

export interface AccountFlags {
  readonly registry?: string
  readonly token?: string
  readonly json: boolean
  readonly quiet: boolean
}

/** What a command that saves or ends a login works with. */
export type AccountContext = Awaited<ReturnType<typeof openAccount>>

/** Throws `usage_invalid` for an invalid address, `config_invalid` for an invalid file. */
export async function openAccount(flags: AccountFlags) {
  const configFile = configPath(process.env)
  const config = await readConfig(configFile)
  const { server, client } = await connect(flags, config, configFile)
  const login = config.registries[server.url]
  return { server, client, output: processOutput(flags), configFile, login }
}

/**
 * With a given token the configuration file is read for its settings alone, and may be missing or
 * damaged. Throws as `openAccount`, and `auth_required` without any token.
 */
export async function openToken(flags: AccountFlags) {
  const given = await readGivenToken(flags.token, process.env)
  if (given !== null) {
    const { source, source_name } = given
    const output = processOutput(flags)
    const { config, path } = await readSettings(output)
    const { server, client } = await connect(flags, config, path)
    const withToken: WithToken = call => withGivenToken(given, call)
    return { server, client, output, source: { source, source_name }, withToken }
  }
  const { server, client, output, configFile, login } = await openAccount(flags)
  if (login?.access_token === undefined) throw notLoggedIn(server)
  const source: TokenSource = { source: 'config', source_name: configFile }
  // Refreshed when that is due and possible.
  const withToken: WithToken = call => withSavedToken(client, configFile, call)
  return { server, client, output, source, withToken }
}

type WithToken = <T>(call: (token: Secret) => Promise<T>) => Promise<T>

/** For a given token: a file that cannot be used is named in a warning. */
async function readSettings(output: Output): Promise<{ config: Config; path: string }> {
  let path = ''
  try {
    path = configPath(process.env)
    return { config: await readConfig(path), path }
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    if (path !== '') output.warn(`${error.message}; its settings are not used`)
    return { config: { registries: {} }, path }
  }
}

/**
 * The server is that of `--registry`, `SERVICE_REGISTRY`, `default_registry` of the file, or the one
 * of this machine. An empty text counts as absent.
 */
async function connect(flags: AccountFlags, config: Config, path: string) {
  const named: [text: string | undefined, source: string][] = [
    [flags.registry, '--registry'],
    [process.env.SERVICE_REGISTRY, 'SERVICE_REGISTRY'],
    [config.default_registry, `default_registry in ${path}`],
  ]
  const [text = `http://127.0.0.1:${defaultPorts.registry}`, source = ''] =
    named.find(([value = '']) => value.trim()) ?? []
  const server = requireAccountsUrl(text, source)
  // Loading the HTTP client takes as long as all else of a command.
  const { AccountsClient } = await import('../lib/accounts/client.ts')
  return { server, client: new AccountsClient(server, process.env) }
}

/** Saves a login in place of the one before, and says who is logged in and until when. */
export async function saveLogin(
  { server, output, configFile }: AccountContext,
  login: Login,
  more: object = {},
): Promise<void> {
  const saved = await updateConfig(configFile, config => withLogin(config, server.url, login))
  const { username, email, access_expires_at, refresh_expires_at } = login
  const variable = ['SERVICE_TOKEN', 'SERVICE_TOKEN_FILE'].find(name => process.env[name]?.trim())
  await output.result('', {
    registry: server.url,
    username,
    email: email ?? null,
    expires_at: rfc3339OrNull(access_expires_at),
    refresh_expires_at: rfc3339OrNull(refresh_expires_at),
    saved_in: configFile,
    overridden_by: variable ?? null,
    ...more,
  })
  output.note(`logged in to ${server.url} as ${username}`)
  if (access_expires_at) output.note(`the token ${expiryText(access_expires_at, Date.now())}`)
  if (saved.default_registry !== server.url) {
    output.note(`commands go to ${saved.default_registry} unless --registry names this server`)
  }
  if (variable !== undefined) {
    output.warn(`${variable} is set and goes before the saved login: unset ${variable} to use it`)
  }
}
