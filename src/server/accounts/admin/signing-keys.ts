import { rfc3339OrNull, toRfc3339 } from '../../../lib/util/time.ts'
import { ServiceError } from '../../../lib/util/errors.ts'
import { storeDefaults } from '../../database/limits.ts'
import type { KeyFacts } from '../keys/key-store.ts'
import type { Admin } from './open-admin.ts'

/** A running accounts server loads the new keys within `keyPollMs`. */
export async function rotateKeys(admin: Admin, { compromised = false }: { compromised?: boolean }) {
  const keys = await admin.openKeys({
    // Only the server knows how long tokens live, so this removes no key.
    lifetimes: { accessTokenMs: never, refreshTokenMs: never },
    rotationMs: storeDefaults.keyRotationMs,
    create: false,
  })
  try {
    await keys.rotate({ compromised })
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new ServiceError('request_refused', 'the key ring is full', {
      cause: error,
      hint: 'a running accounts server removes keys whose tokens have all expired',
    })
  }
  await admin.record('keys.rotated', null, { compromised })
  return { compromised, keys: keys.list().map(keyView) }
}

const never = Number.MAX_SAFE_INTEGER / 2

function keyView({ use, id, state, createdAtMs, retiredAtMs }: KeyFacts) {
  return {
    use,
    id,
    state,
    created_at: toRfc3339(createdAtMs),
    retired_at: rfc3339OrNull(retiredAtMs),
  }
}
