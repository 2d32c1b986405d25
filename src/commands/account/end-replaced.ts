import type { SavedLogin } from '../../lib/config/config-file.ts'
import { ServiceError } from '../../lib/util/errors.ts'
import type { RegistryClient } from '../../lib/accounts/client.ts'

/**
 * Ends the session that a new login took the place of, at the registry that both are of: nobody
 * holds its tokens any more, and it would stand in the list of sessions for weeks. The new login
 * is saved, so nothing that fails here matters.
 */
export async function endReplaced(
  client: RegistryClient,
  replaced: SavedLogin | undefined,
): Promise<void> {
  const { accessToken, refreshToken } = replaced ?? {}
  // Only a login of this program comes with both. A token that was given may be in use elsewhere.
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
