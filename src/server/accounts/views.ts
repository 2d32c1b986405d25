import type { z } from 'zod'
import { rfc3339OrNull, toRfc3339 } from '../../lib/util/time.ts'
import {
  type account as accountShape,
  serviceScopes,
  type ServiceTokenView,
} from '../../lib/accounts/wire.ts'
import type { NewAccount, ServiceTokenRow } from './account-store.ts'

/** Rows as the wire shows them: nothing of a hash, a key or a counter. */
export function accountView({
  id,
  username,
  email,
  createdAtMs,
}: NewAccount): z.infer<typeof accountShape> {
  return { id, username, email, created_at: toRfc3339(createdAtMs) }
}

export function serviceTokenView(
  token: Omit<ServiceTokenRow, 'accountId' | 'secretHash' | 'revokedAtMs'>,
): ServiceTokenView {
  return {
    id: token.id,
    name: token.name,
    scopes: serviceScopes.filter(scope => token.scopes.includes(scope)),
    created_at: toRfc3339(token.createdAtMs),
    expires_at: toRfc3339(token.expiresAtMs),
    last_used_at: rfc3339OrNull(token.lastUsedAtMs),
  }
}
