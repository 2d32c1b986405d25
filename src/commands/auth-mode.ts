import { parseRfc3339 } from '../lib/util/time.ts'
import { ServiceError } from '../lib/util/errors.ts'
import type { NamedKey } from '../lib/auth/keys-file.ts'
import { type Result, fail, ok } from '../lib/util/result.ts'
import type { AuthSettings } from '../server/auth/settings.ts'

export type AuthMode = AuthSettings['mode']

/** The configured keys. */
export interface FoundKeys {
  /** The source of the single key (`--api-key-file` or `SERVICE_MCP_API_KEY`), or null. */
  readonly source: string | null
  readonly keysFile: string
  /** Null when the file does not exist. */
  readonly named: readonly NamedKey[] | null
}

/**
 * The mode of a server. A configured key is never ignored, and a server that required a key does
 * not start open because the last one was revoked or has expired.
 */
export function decideMode(
  asked: AuthMode | undefined,
  { source, keysFile, named }: FoundKeys,
  nowMs: number,
): Result<AuthMode, ServiceError> {
  const count = named?.length ?? 0
  // Keys are accepted beside the tokens of the accounts server.
  if (asked === 'accounts') return ok(asked)
  if (asked === 'none' || asked === 'oauth') {
    if (source !== null) return fail(ignored(asked, `the key of ${source}`, `without ${source}`))
    if (count > 0) {
      const keys = `the keys of ${keysFile}`
      return fail(ignored(asked, keys, 'with another --keys-file, or revoke them first'))
    }
    return ok(asked)
  }
  if (source !== null) return ok('api-key')
  if (asked === undefined && named === null) return ok('none')
  if (named?.some(key => !hasExpired(key, nowMs)) === true) return ok('api-key')
  const what = count === 0 ? 'no key exists' : 'every key has expired'
  return fail(
    new ServiceError('config_invalid', `clients need a key, but ${what} in ${keysFile}`, {
      hint: hintFor(asked, count, keysFile),
    }),
  )
}

function hasExpired({ expiresAt }: NamedKey, nowMs: number): boolean {
  return expiresAt !== null && (parseRfc3339(expiresAt) ?? 0) <= nowMs
}

function hintFor(asked: AuthMode | undefined, count: number, keysFile: string): string {
  const make = 'make one with service-cli keys create'
  if (asked !== undefined) return `${make}, or set SERVICE_MCP_API_KEY`
  return count === 0
    ? `${make}, or pass --auth none to run without authentication`
    : `${make}, or remove ${keysFile} to run without authentication`
}

function ignored(mode: AuthMode, what: string, without: string): ServiceError {
  return new ServiceError('usage_invalid', `--auth ${mode} would ignore ${what}`, {
    hint: `omit --auth, or start it ${without}`,
  })
}
