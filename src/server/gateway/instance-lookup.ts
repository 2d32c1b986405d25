import { minPrefixChars, plainId } from '../../lib/instances/select-instance.ts'
import { type Result, fail, ok } from '../../lib/util/result.ts'
import type { InstanceEntry } from './instance-directory.ts'

export type LookupFailure =
  | { readonly kind: 'none' }
  | { readonly kind: 'too_short' }
  | { readonly kind: 'ambiguous'; readonly candidates: readonly InstanceEntry[] }

/**
 * The hexadecimal digits that a selector begins an id with, lower case and without hyphens; null
 * for what begins none.
 */
export function idPrefix(selector: string): string | null {
  const digits = plainId(selector)
  return /^[0-9a-f]{1,32}$/.test(digits) ? digits : null
}

/** The one instance whose id is the selector or begins with it, alive or dead. */
export function lookUpInstance(
  entries: readonly InstanceEntry[],
  selector: string,
): Result<InstanceEntry, LookupFailure> {
  const prefix = idPrefix(selector)
  if (prefix === null) return fail({ kind: 'none' })
  if (prefix.length < minPrefixChars) return fail({ kind: 'too_short' })
  const candidates = entries.filter(({ record }) => idPrefix(record.instanceId)?.startsWith(prefix))
  const [found] = candidates
  if (found === undefined) return fail({ kind: 'none' })
  return candidates.length === 1 ? ok(found) : fail({ kind: 'ambiguous', candidates })
}
