import { type Clock, systemClock } from '../util/time.ts'
import type { AccountsUrl } from '../config/accounts-url.ts'
import type { SavedLogin } from '../config/config-file.ts'
import type { ConfigStore, HeldConfig } from '../config/config-store.ts'
import { isSameToken, savedLogin, withTokens, withoutTokens } from '../config/saved-logins.ts'
import { ServiceError } from '../util/errors.ts'
import type { Logger } from '../util/logger.ts'
import type { Secret } from '../util/secret.ts'
import type { Tokens } from './answers.ts'
import type { AccountsClient } from './client.ts'
import { canRefresh, isExpired, needsRefresh } from './refresh-need.ts'
import type { TokenChoice } from './token-source.ts'

interface SessionParts {
  readonly client: AccountsClient
  readonly store: ConfigStore
  /** User of the saved login: that of another user, who logged in meanwhile, is not used. */
  readonly username?: string
  readonly log: Logger
  readonly refreshMarginMs: number
  readonly clock?: Clock
}

/**
 * Calls with a token that was given by an option, a variable or a file of its own: it is used as it
 * is, never refreshed, never written. A 401 becomes `auth_refused`, naming the place.
 */
export async function withGivenToken<T>(
  token: Secret,
  choice: TokenChoice,
  call: (token: Secret) => Promise<T>,
): Promise<T> {
  try {
    return await call(token)
  } catch (error) {
    if (!isTokenRefused(error)) throw error
    throw new ServiceError('auth_refused', `${error.message} (the token of ${choice.name})`, {
      hint: `give another token, or take ${choice.name} away to use the saved login`,
      data: error.data,
    })
  }
}

/**
 * Calls with the saved token of the accounts server. It is refreshed before when it is about to
 * end, and once after a 401; of several processes one does it and the others take what it saved.
 * Throws `auth_required` when there is no saved login or the login has ended, `storage_failed` or
 * `storage_full` when new tokens could not be saved.
 */
export async function withSavedToken<T>(
  parts: SessionParts,
  call: (token: Secret) => Promise<T>,
): Promise<T> {
  const { client, store, username, refreshMarginMs, clock = systemClock } = parts
  const entry = savedLogin(await store.read(), client.server.url, username)
  if (entry?.accessToken === undefined) throw notLoggedIn(parts.client.server)
  const stale = needsRefresh(entry, clock.now(), refreshMarginMs)
  const token = stale ? await refreshEarly(parts, entry.accessToken) : entry.accessToken
  try {
    return await call(token)
  } catch (error) {
    if (!isTokenRefused(error)) throw error
    const other = await refreshRefused(parts, token, error)
    return await call(other)
  }
}

/** Before the end: whatever fails, the old token is still worth a try. */
async function refreshEarly(parts: SessionParts, used: Secret): Promise<Secret> {
  const { client, log, clock = systemClock } = parts
  const done = await underLock(parts, used, async (held, entry, current) => {
    try {
      return await exchange(parts, held, entry, current)
    } catch (error) {
      if (isUnauthorised(error) && isExpired(entry, clock.now())) {
        throw await endLogin(parts, held, current, error)
      }
      if (!(error instanceof ServiceError) || isLocal(error)) throw error
      log.debug({ code: error.code }, `the token of ${client.server.url} was not refreshed`)
      return current
    }
  })
  return done ?? used
}

/** After a 401, which `refusal` says: a new token, or an error. */
async function refreshRefused(
  parts: SessionParts,
  used: Secret,
  refusal: ServiceError,
): Promise<Secret> {
  const done = await underLock(parts, used, async (held, entry, current) => {
    if (!canRefresh(entry)) {
      throw await endLogin(parts, held, current, refusal)
    }
    try {
      return await exchange(parts, held, entry, current)
    } catch (error) {
      if (!isUnauthorised(error)) throw error
      throw await endLogin(parts, held, current, error)
    }
  })
  if (done === null) throw refusal
  return done
}

/**
 * Runs the exchange unless another process made it first: then the saved token is returned. Null
 * when the lock was not available and no other token was saved.
 */
async function underLock(
  parts: SessionParts,
  used: Secret,
  run: (held: HeldConfig, entry: SavedLogin, current: Secret) => Promise<Secret>,
): Promise<Secret | null> {
  const { client, store, username, log } = parts
  const { url } = client.server
  const done = await store.locked(async held => {
    const entry = savedLogin(await held.read(), url, username)
    if (entry?.accessToken === undefined) throw notLoggedIn(parts.client.server)
    const current = entry.accessToken
    return isSameToken(current, used) ? run(held, entry, current) : current
  })
  if (done.ok) return done.value
  log.debug({ registry: url, reason: done.failure.message }, 'the token stays as it is')
  const saved = savedLogin(await store.read(), url, username)?.accessToken
  return saved === undefined || isSameToken(saved, used) ? null : saved
}

/** Asks for new tokens and saves them before they are used. */
async function exchange(
  parts: SessionParts,
  held: HeldConfig,
  entry: SavedLogin,
  current: Secret,
): Promise<Secret> {
  const tokens = await askForTokens(parts, entry, current)
  const { url } = parts.client.server
  try {
    await held.write(withTokens(await held.read(), url, tokens))
  } catch (error) {
    throw notSaved(parts, error)
  }
  return tokens.accessToken
}

/**
 * The refresh token first; without one, or where that is not known, as the specification has it.
 */
async function askForTokens(
  { client, clock = systemClock }: SessionParts,
  entry: SavedLogin,
  current: Secret,
): Promise<Tokens> {
  const { refreshToken } = entry
  if (refreshToken === undefined) return client.refresh({ accessToken: current })
  try {
    return await client.refresh({ refreshToken })
  } catch (error) {
    const refused = error instanceof ServiceError && refusals.has(error.code)
    if (!refused || isExpired(entry, clock.now())) throw error
    return client.refresh({ accessToken: current })
  }
}

const refusals = new Set(['auth_refused', 'request_refused'])

/**
 * Removes the tokens that were refused, and only those: another process may have logged in again
 * meanwhile. Returns the error to throw.
 */
async function endLogin(
  parts: SessionParts,
  held: HeldConfig,
  refused: Secret,
  refusal: ServiceError,
): Promise<ServiceError> {
  const { url } = parts.client.server
  const config = await held.read()
  if (isSameToken(savedLogin(config, url)?.accessToken, refused)) {
    await held.write(withoutTokens(config, url))
  }
  return new ServiceError(
    'auth_required',
    `the login saved in ${parts.store.path} has ended (${refusal.message})`,
    { hint: loginHint(url), data: { ...refusal.data, registry: url } },
  )
}

function isUnauthorised(error: unknown): error is ServiceError {
  return error instanceof ServiceError && error.code === 'auth_refused'
}

/**
 * A wrong password beside the token is a 401 too: no other token helps, and the same again would
 * count as one more failure.
 */
function isTokenRefused(error: unknown): error is ServiceError {
  return isUnauthorised(error) && error.data?.reason !== 'invalid-credentials'
}

/** Whether the error is of this machine, so that another token does not help. */
function isLocal({ code }: ServiceError): boolean {
  return ['storage_failed', 'storage_full', 'config_invalid', 'auth_required'].includes(code)
}

function loginHint(url: string): string {
  return `log in with service-cli login --registry ${url}`
}

/** With the three ways out, for people and for pipelines. */
export function notLoggedIn({ url }: AccountsUrl): ServiceError {
  return new ServiceError('auth_required', `not logged in to ${url}`, {
    hint: `${loginHint(url)}, or give a token with SERVICE_TOKEN or --token`,
    data: { registry: url },
  })
}

/** The old tokens stop working: hiding this would end the login without a word. */
function notSaved(parts: SessionParts, error: unknown): ServiceError {
  const { store, client } = parts
  const code = error instanceof ServiceError ? error.code : 'storage_failed'
  const why = error instanceof ServiceError ? error.message : 'unknown error'
  return new ServiceError(
    code,
    `${client.server.url} gave new tokens, but they could not be saved (${why}): the saved ones soon stop working`,
    {
      hint: `make room and write access for ${store.path}, then run the command again within a minute, or log in again`,
      data: { registry: client.server.url },
    },
  )
}
