import { parseSecret, readSecretFile } from '../auth/secret-file.ts'
import type { AccountsUrl } from '../config/accounts-url.ts'
import { type Config, readConfig, updateConfig, withLogin } from '../config/config-file.ts'
import { ServiceError } from '../util/errors.ts'
import { Secret } from '../util/secret.ts'
import type { AccountsClient, Login } from './client.ts'

/** A saved token is refreshed when less than this is left of it. */
const refreshMarginMs = 5 * 60_000

/** Where a token comes from; `config`: the saved login. */
export interface TokenSource {
  readonly source: 'option' | 'variable' | 'token_file' | 'config'
  /** In words: `--token`, `SERVICE_TOKEN`, a path. Never the token. */
  readonly source_name: string
}

/** A token that was given for one command. */
export type GivenToken = TokenSource & { readonly token: Secret }

/**
 * The token of `--token`, else of `SERVICE_TOKEN`, else of the file that `SERVICE_TOKEN_FILE`
 * names; null when none is given. An empty text counts as absent. Throws `config_invalid`, naming
 * the place, for what is no token.
 */
export async function readGivenToken(
  option = '',
  { SERVICE_TOKEN: variable = '', SERVICE_TOKEN_FILE: path = '' }: NodeJS.ProcessEnv,
): Promise<GivenToken | null> {
  if (option.trim() !== '') {
    const token = new Secret(parseSecret(option, '--token'))
    return { source: 'option', source_name: '--token', token }
  }
  if (variable.trim() !== '') {
    const token = new Secret(parseSecret(variable, 'SERVICE_TOKEN'))
    return { source: 'variable', source_name: 'SERVICE_TOKEN', token }
  }
  if (path.trim() === '') return null
  const token = new Secret(await readSecretFile(path, 'SERVICE_TOKEN_FILE', { mounted: true }))
  return { source: 'token_file', source_name: `SERVICE_TOKEN_FILE ${path}`, token }
}

/** Calls with a token that was given. It is never refreshed; a refusal names its place. */
export async function withGivenToken<T>(
  { token, source_name: name }: GivenToken,
  call: (token: Secret) => Promise<T>,
): Promise<T> {
  try {
    return await call(token)
  } catch (error) {
    const isScopeMissing =
      error instanceof ServiceError && error.data?.['reason'] === 'insufficient-scope'
    if (!isTokenRefused(error) && !isScopeMissing) throw error
    throw new ServiceError(error.code, `${error.message} (the token of ${name})`, {
      hint: `give another token, or take ${name} away to use the saved login`,
      data: error.data,
    })
  }
}

/**
 * Calls with the saved token. It is refreshed first when it is about to end, and once after a
 * 401; of several processes one does that, and the others take what it saved. Throws
 * `auth_required` when there is no saved login or it has ended.
 */
export async function withSavedToken<T>(
  client: AccountsClient,
  configFile: string,
  call: (token: Secret) => Promise<T>,
): Promise<T> {
  const { access_token, access_expires_at = Infinity } = requireLogin(
    await readConfig(configFile),
    client,
  )
  const isEnding = access_expires_at < Date.now() + refreshMarginMs
  const token = isEnding ? await refresh(client, configFile, access_token) : access_token
  try {
    return await call(token)
  } catch (error) {
    if (!isTokenRefused(error)) throw error
    return call(await refresh(client, configFile, token))
  }
}

/**
 * Returns another token than `used`: a new one, which is saved before it is used, or one that
 * another process has saved. Removes the tokens of a login that has ended.
 */
async function refresh(client: AccountsClient, configFile: string, used: Secret): Promise<Secret> {
  const { url } = client.server
  let token: Secret | undefined
  await updateConfig(configFile, async config => {
    const login = requireLogin(config, client)
    if (!login.access_token.equals(used.reveal())) {
      token = login.access_token
      return config
    }
    try {
      const fresh = await client.refresh(login)
      token = fresh.access_token
      // The refresh token stays unless a new one came.
      const { refresh_token, refresh_expires_at } = fresh.refresh_token ? fresh : login
      return withLogin(config, url, { ...login, ...fresh, refresh_token, refresh_expires_at })
    } catch (error) {
      if (!isTokenRefused(error)) throw error
      const { username, email } = login
      return withLogin(config, url, { username, email })
    }
  })
  if (token !== undefined) return token
  throw new ServiceError('auth_required', `the login saved in ${configFile} has ended`, {
    hint: `log in with service-cli login --registry ${url}`,
  })
}

function requireLogin(config: Config, { server }: AccountsClient): Login {
  const login = config.registries[server.url]
  if (login?.access_token === undefined) throw notLoggedIn(server)
  return { ...login, access_token: login.access_token }
}

/** With the ways out, for people and for pipelines. */
export function notLoggedIn({ url }: AccountsUrl): ServiceError {
  return new ServiceError('auth_required', `not logged in to ${url}`, {
    hint: `log in with service-cli login --registry ${url}, or give a token with SERVICE_TOKEN or --token`,
  })
}

/** Not a wrong password beside the token, which is a 401, too. */
function isTokenRefused(error: unknown): error is ServiceError {
  const isRefused = error instanceof ServiceError && error.code === 'auth_refused'
  return isRefused && error.data?.['reason'] !== 'invalid-credentials'
}
