import type { GatewayLimits } from '../../../lib/config/gateway-limits.ts'
import { parseVisibility } from '../../../lib/instances/visibility.ts'
import { isJsonObject, parseJson } from '../../../lib/util/json.ts'
import { fail, ok, type Result } from '../../../lib/util/result.ts'
import { uuidForm } from '../../../lib/util/text.ts'
import type { DirectoryRecord } from '../instance-directory.ts'
import { parseShownRecord } from '../shown-record.ts'
import type { JoinPrincipal } from './join-tokens.ts'

const uuid = new RegExp(`^${uuidForm}$`)

/** The record of a joined instance: as it was sent, and as it is shown. */
export interface ToldRecord {
  readonly text: string
  readonly principal: JoinPrincipal
  readonly record: DirectoryRecord
}

/** Applies another name or team of the user. */
export function withPrincipal({ text, record }: ToldRecord, principal: JoinPrincipal): ToldRecord {
  const joined = record.joined && { ...record.joined, ...principal }
  return { text, principal, record: { ...record, joined } }
}

/** Parses a record that an instance of `principal` sent; fails with why it is invalid. */
export function parseToldRecord(
  line: Buffer,
  principal: JoinPrincipal,
  limits: GatewayLimits,
): Result<ToldRecord, string> {
  const parsed = parseJson(line.toString(), limits.maxRecordDepth)
  const id = parsed.ok && isJsonObject(parsed.value) ? parsed.value['instance_id'] : null
  if (typeof id !== 'string' || !uuid.test(id)) return fail('its instance_id must be a UUID')
  return readToldRecord(line.toString(), id, principal, limits)
}

/** Parses the record of the instance `id`, as it was sent; fails with why it is invalid. */
export function readToldRecord(
  text: string,
  id: string,
  principal: JoinPrincipal,
  limits: GatewayLimits,
): Result<ToldRecord, string> {
  const record = parseShownRecord(Buffer.from(text), id, limits)
  if (!record.ok) return record
  const parsed = parseJson(text, limits.maxRecordDepth)
  const told = parsed.ok && isJsonObject(parsed.value) ? parsed.value : {}
  // Addresses of another machine are neither shown nor called.
  const nowhere = { mcpUrl: null, mcpUrlIsLoopback: false, localUrl: null }
  const joined = { ...principal, visibility: parseVisibility(told['visible_to']) }
  return ok({ text, principal, record: { ...record.value, ...nowhere, joined } })
}
