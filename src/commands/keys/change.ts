import { parseRfc3339, toRfc3339 } from '../../lib/util/clock.ts'
import { ServiceError } from '../../lib/util/errors.ts'
import { keyDigest, keyPrefix } from '../../lib/auth/key-text.ts'
import { type NamedKey, isKeyName, maxKeyNameChars, maxKeys } from '../../lib/auth/keys-text.ts'
import { usage } from '../../lib/util/usage.ts'

export interface WantedKey {
  /** Undefined: the first free `key-N`. */
  readonly name: string | undefined
  readonly key: string
  readonly readOnly: boolean
  /** Null: until it is revoked. */
  readonly lifeMs: number | null
}

/** The entry for a new key. Throws `entry_exists`, `limit_reached`, `usage_invalid`. */
export function newEntry(
  keys: readonly NamedKey[],
  { name = freeName(keys), key, readOnly, lifeMs }: WantedKey,
  nowMs: number,
): NamedKey {
  if (!isKeyName(name)) {
    throw usage(
      `the name of a key has 1 to ${maxKeyNameChars} letters, digits, ".", "_" or "-"`,
      'as in anna-claude',
    )
  }
  // It would stand in the file, in lists and in logs; and the key that is made is another one.
  if (name.startsWith(keyPrefix)) {
    throw usage('that is a key, and a key cannot be its own name', 'as in anna-claude')
  }
  if (keys.some(known => known.name === name)) {
    throw new ServiceError('entry_exists', `there is a key "${name}" already`, {
      hint: `choose another name, or end that one with service-cli keys revoke ${name}`,
    })
  }
  if (keys.length >= maxKeys) {
    throw new ServiceError('limit_reached', `there are ${maxKeys} keys already`, {
      hint: 'end those that nobody uses with service-cli keys revoke',
    })
  }
  return {
    name,
    sha256: keyDigest(key),
    scope: readOnly ? 'read' : 'write',
    createdAt: toRfc3339(nowMs),
    expiresAt: lifeMs === null ? null : toRfc3339(nowMs + lifeMs),
  }
}

/** The others. Throws `request_refused` when there is none of the name. */
export function without(keys: readonly NamedKey[], name: string): readonly NamedKey[] {
  const left = keys.filter(key => key.name !== name)
  if (left.length < keys.length) return left
  // Not repeated: it may be the key itself.
  throw new ServiceError('request_refused', 'there is no key of that name', {
    hint: 'service-cli keys list shows them',
  })
}

/** Member names of `--json`; no secret among them. */
export function entryJson({ name, scope, createdAt, expiresAt }: NamedKey): object {
  return { name, scope, created_at: createdAt, expires_at: expiresAt }
}

export function expiryMs({ expiresAt }: NamedKey): number | null {
  return expiresAt === null ? null : parseRfc3339(expiresAt)
}

function freeName(keys: readonly NamedKey[]): string {
  const taken = new Set(keys.map(({ name }) => name))
  for (let number = 1; ; number++) if (!taken.has(`key-${number}`)) return `key-${number}`
}
