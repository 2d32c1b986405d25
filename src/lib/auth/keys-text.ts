import { isJsonObject } from '../util/json.ts'
import { MemberReader, pointerTo } from '../util/member-reader.ts'
import { type Result, fail, ok } from '../util/result.ts'

export const keyScopes = ['read', 'write'] as const

/** What a key is good for; `write` includes `read`. */
export type KeyScope = (typeof keyScopes)[number]

/** A named key, without the key. */
export interface NamedKey {
  readonly name: string
  /** SHA-256 of the key, in hex. */
  readonly sha256: string
  readonly scope: KeyScope
  /** RFC 3339. */
  readonly createdAt: string
  /** RFC 3339; null: it does not expire. */
  readonly expiresAt: string | null
}

/** More than a studio has; every server reads all of them. */
export const maxKeys = 1000
export const maxKeyNameChars = 64
/** A thousand of the largest entries have less than half of it. */
export const maxKeysFileBytes = 1024 * 1024

const form = 1

/** Letters, digits, `.`, `_` and `-`: it is in logs, in the audit, and typed in shells. */
export function isKeyName(name: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name) && name.length <= maxKeyNameChars
}

export function formatKeys(keys: readonly NamedKey[]): string {
  const written = keys.map(({ name, sha256, scope, createdAt, expiresAt }) => ({
    ...{ name, sha256, scope, created_at: createdAt },
    ...(expiresAt === null ? {} : { expires_at: expiresAt }),
  }))
  return `${JSON.stringify({ form, keys: written }, null, 2)}\n`
}

/**
 * The keys of a file, or what is wrong with it. Strict: a member that is not understood may be the
 * one that limits a key.
 */
export function parseKeys(text: string): Result<readonly NamedKey[], string> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return fail('is not JSON')
  }
  if (!isJsonObject(value)) return fail('is not a JSON object')
  if (value.form !== form) return fail(`is not of the form ${form} that this version reads`)
  const { keys, ...others } = value
  if (Object.keys(others).length > 1) return fail('has members that are not known here')
  if (!Array.isArray(keys)) return fail('has no list of keys')
  if (keys.length > maxKeys) return fail(`has more than ${maxKeys} keys`)
  const found: NamedKey[] = []
  for (const [at, item] of keys.entries()) {
    const reader = new MemberReader(item, pointerTo('/keys', at))
    const key = readKey(reader)
    const { failure } = reader
    if (failure !== null) return fail(`is damaged: ${failure.pointer} ${failure.detail}`)
    found.push(key)
  }
  for (const member of ['name', 'sha256'] as const) {
    if (new Set(found.map(key => key[member])).size < found.length) {
      return fail(`is damaged: a ${member} is there twice`)
    }
  }
  return ok(found)
}

function readKey(reader: MemberReader): NamedKey {
  const name = reader.required('name', reader.text('name'), 'x')
  if (!isKeyName(name)) reader.refuse('name', 'is no name of a key')
  const sha256 = reader.required('sha256', reader.text('sha256'), '')
  if (!/^[0-9a-f]{64}$/.test(sha256)) reader.refuse('sha256', 'must be 64 hex digits')
  return {
    name,
    sha256,
    scope: reader.required('scope', reader.word('scope', keyScopes), 'read'),
    createdAt: reader.required('created_at', reader.time('created_at'), ''),
    expiresAt: reader.time('expires_at') ?? null,
  }
}
