import type { Readable } from 'node:stream'
import type { GatewayLimits } from '../../../lib/config/gateway-limits.ts'
import { isJsonObject, parseJson } from '../../../lib/util/json.ts'
import { fail, ok, type Result } from '../../../lib/util/result.ts'
import { uuidForm } from '../../../lib/util/text.ts'
import type { DirectoryRecord } from '../instance-directory.ts'
import { parseShownRecord } from '../shown-record.ts'
import { parseVisibility } from '../../../lib/instances/visibility.ts'
import type { JoinPrincipal } from './join-tokens.ts'

const newline = 0x0a
const uuid = new RegExp(`^${uuidForm}$`)

/** The lines of a stream. Throws for one that is longer than a record may be. */
export async function* recordLines(stream: Readable, maxBytes: number): AsyncGenerator<Buffer> {
  // What came of a line, copied: a kept chunk would keep the whole message that it came in.
  let held = Buffer.alloc(1024)
  let length = 0
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    let bytes = chunk
    for (let end = bytes.indexOf(newline); end !== -1; end = bytes.indexOf(newline)) {
      yield Buffer.concat([held.subarray(0, length), bytes.subarray(0, end)])
      bytes = bytes.subarray(end + 1)
      length = 0
    }
    const needed = length + bytes.length
    if (needed > maxBytes) throw new Error(`its record is larger than ${maxBytes} bytes`)
    if (needed > held.length) held = Buffer.concat([held.subarray(0, length)], 2 * needed)
    length += bytes.copy(held, length)
  }
}

/** What an instance says of itself, as it was told and as it is shown. */
export interface ToldRecord {
  readonly text: string
  readonly principal: JoinPrincipal
  readonly record: DirectoryRecord
}

/** The same of a user who has another name or team. */
export function withPrincipal({ text, record }: ToldRecord, principal: JoinPrincipal): ToldRecord {
  const joined = record.joined && { ...record.joined, ...principal }
  return { text, principal, record: { ...record, joined } }
}

/** What an instance of `principal` says of itself over its link; or why that is invalid. */
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

/** The record of the instance `id`, as it was told; or why it is invalid. */
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
  // No address of another machine is shown or asked.
  const nowhere = { mcpUrl: null, mcpUrlIsLoopback: false, localUrl: null }
  const joined = { ...principal, visibility: parseVisibility(told['visible_to']) }
  return ok({ text, principal, record: { ...record.value, ...nowhere, joined } })
}
