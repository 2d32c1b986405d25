import { parseRecord } from '../../../lib/instances/record.ts'
import { ok, type Result } from '../../../lib/util/result.ts'
import type { DirectoryRecord } from '../instance-directory.ts'
import { shownRecord } from '../shown-record.ts'
import type { JoinPrincipal } from './join-tokens.ts'

/** The record of a joined instance, as it is shown, and whose it is. */
export interface ToldRecord {
  readonly principal: JoinPrincipal
  readonly record: DirectoryRecord
}

/** Applies another name or team of the user. */
export function withPrincipal({ record }: ToldRecord, principal: JoinPrincipal): ToldRecord {
  const joined = record.joined && { ...record.joined, ...principal }
  return { principal, record: { ...record, joined } }
}

/** Parses what an instance of `principal` sent; fails with why it is invalid. */
export function parseToldRecord(
  text: string,
  principal: JoinPrincipal,
): Result<ToldRecord, string> {
  const parsed = parseRecord(Buffer.from(text), null)
  if (!parsed.ok) return parsed
  const joined = { ...principal, visibility: parsed.value.visible_to ?? 'owner' }
  // Addresses of another machine are neither shown nor called.
  const nowhere = { mcpUrl: null, localUrl: null }
  const record = { ...shownRecord(parsed.value), ...nowhere, joined }
  return ok({ principal, record })
}
