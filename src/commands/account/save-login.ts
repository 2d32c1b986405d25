import { rfc3339OrNull } from '../../lib/util/time.ts'
import type { SavedLogin } from '../../lib/config/config-file.ts'
import { savedLogin, withLogin } from '../../lib/config/saved-logins.ts'
import { expiryText } from '../../lib/util/amounts.ts'
import { ServiceError } from '../../lib/util/errors.ts'
import type { Tokens } from '../../lib/accounts/answers.ts'
import type { AccountsClient } from '../../lib/accounts/client.ts'
import type { AccountContext } from './context.ts'

interface Who {
  readonly username: string
  readonly email?: string
}

interface Login {
  readonly client: AccountsClient
  readonly tokens: Tokens
  /** The user who logged in by a password, for when the accounts server cannot be asked. */
  readonly typed: Who
  /** The accounts server has ended every earlier session of the account. */
  readonly earlierEnded?: boolean
}

/**
 * Asks the accounts server who the new token belongs to, and only then saves it. A session that
 * could not be saved is ended again: it would live on unseen. Returns who is logged in.
 */
export async function saveLogin(context: AccountContext, login: Login): Promise<Who> {
  const { client, tokens } = login
  let who: Who
  let replaced: SavedLogin | undefined
  try {
    who = await whoIs(login)
    replaced = await saveTokens(context, who, tokens)
  } catch (error) {
    await client.logout(tokens.accessToken).catch(() => {})
    throw error
  }
  const isEnded = login.earlierEnded === true && replaced?.username === who.username
  if (!isEnded) await endReplaced(client, replaced)
  return who
}

/** Returns the login that it replaced. */
export async function saveTokens(
  { store, server }: AccountContext,
  { username, email }: Who,
  tokens: Tokens,
): Promise<SavedLogin | undefined> {
  let replaced: SavedLogin | undefined
  await store.update(config => {
    replaced = savedLogin(config, server.url)
    return withLogin(config, server.url, { username, email, ...tokens })
  })
  return replaced
}

/** An accounts server may offer no more than the login; then the name is as it was typed. */
async function whoIs({ client, tokens, typed }: Login): Promise<Who> {
  try {
    return await client.me(tokens.accessToken)
  } catch (error) {
    if (isNotOffered(error)) return typed
    throw error
  }
}

export function isNotOffered(error: unknown): boolean {
  if (!(error instanceof ServiceError) || error.code !== 'request_refused') return false
  return [404, 405, 501].includes(Number(error.data?.status)) && error.data?.reason === undefined
}

/** Says who is logged in, until when, and which variable overrides the saved login. */
export async function reportLogin(
  { output, server, store, config, env }: AccountContext,
  { username, email }: Who,
  { accessExpiresAtMs, refreshExpiresAtMs }: Tokens,
  more: object = {},
): Promise<void> {
  const overriddenBy = overridingVariable(env)
  await output.result('', {
    registry: server.url,
    username,
    email: email ?? null,
    expires_at: rfc3339OrNull(accessExpiresAtMs),
    refresh_expires_at: rfc3339OrNull(refreshExpiresAtMs),
    saved_in: store.path,
    overridden_by: overriddenBy,
    ...more,
  })
  const until =
    accessExpiresAtMs === undefined
      ? ''
      : `, the token ${expiryText(accessExpiresAtMs, Date.now())}`
  output.note(`logged in to ${server.url} as ${username}${until}`)
  const { defaultServer } = config
  if (defaultServer !== undefined && defaultServer !== server.url) {
    output.note(`commands go to ${defaultServer} unless --registry or SERVICE_REGISTRY is given`)
  }
  if (overriddenBy !== null) {
    output.warn(
      `${overriddenBy} is set and goes before the saved login: unset ${overriddenBy} to use it`,
    )
  }
}

/** The variable that commands take the token of, or null. */
export function overridingVariable(env: NodeJS.ProcessEnv): string | null {
  const names = ['SERVICE_TOKEN', 'SERVICE_TOKEN_FILE']
  return names.find(name => (env[name] ?? '').trim() !== '') ?? null
}

/**
 * Ends the session that a new login replaced, on the accounts server of both. Its tokens are no
 * longer saved anywhere, and it would live on for weeks. The new login is saved, so a failure here
 * is ignored.
 */
async function endReplaced(
  client: AccountsClient,
  replaced: SavedLogin | undefined,
): Promise<void> {
  const { accessToken, refreshToken } = replaced ?? {}
  // Only a login of this program comes with both. A given token may be in use on other machines.
  if (accessToken === undefined || refreshToken === undefined) return
  try {
    await client.logout(accessToken).catch(async error => {
      if (!isExpired(error)) throw error
      const { accessToken: fresh } = await client.refresh({ refreshToken })
      await client.logout(fresh)
    })
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
  }
}

function isExpired(error: unknown): boolean {
  return error instanceof ServiceError && error.data?.reason === 'token-expired'
}
