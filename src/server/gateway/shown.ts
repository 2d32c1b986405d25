import { cleanText } from '../../lib/util/text.ts'
import type { GatewayLimits } from '../../lib/config/gateway-limits.ts'
import { isJsonObject, type JsonObject } from '../../lib/util/json.ts'
import { isSecretMember } from '../../lib/util/secret.ts'
import { boundedJson } from '../resources/bounded-json.ts'

export type ShownLimits = Pick<
  GatewayLimits,
  | 'maxRecordTextChars'
  | 'maxRecordSceneChars'
  | 'maxRecordUrlChars'
  | 'maxRecordMetadataBytes'
  | 'maxRecordDepth'
>

/**
 * Texts of records as they leave the process. Other programs wrote them, so they are data: one
 * printable line of bounded length. The directory promises the same; this enforces it.
 */
export function shownText(text: string, { maxRecordTextChars }: ShownLimits): string {
  return cleanText(text, maxRecordTextChars)
}

/** The same for a path. */
export function shownPath(text: string, { maxRecordSceneChars }: ShownLimits): string {
  return cleanText(text, maxRecordSceneChars)
}

/** The same for an address, of which a part would be another address: its bound is its own. */
export function shownUrl(text: string, { maxRecordUrlChars }: ShownLimits): string {
  return cleanText(text, maxRecordUrlChars)
}

/**
 * Metadata of a record, safe to show: names and texts are single lines without marks that a
 * terminal or a reader would obey, secrets are hidden by their name, and what is too large is
 * replaced by its size.
 */
export function safeMetadata(
  metadata: JsonObject,
  limits: Pick<GatewayLimits, 'maxRecordMetadataBytes' | 'maxRecordDepth'>,
): JsonObject {
  const maxBytes = limits.maxRecordMetadataBytes
  const cleaned = cleanValue(metadata, maxBytes)
  return boundedJson(cleaned, { maxBytes, maxDepth: limits.maxRecordDepth }) as JsonObject
}

/** Of a nesting that the parser has bounded. */
function cleanValue(value: unknown, mostChars: number): unknown {
  if (typeof value === 'string') return cleanText(value, mostChars)
  if (Array.isArray(value)) return value.map(item => cleanValue(item, mostChars))
  if (!isJsonObject(value)) return value
  const members = Object.entries(value).map(([name, member]) => {
    const shown = isSecretMember(name, member) ? '[redacted]' : cleanValue(member, mostChars)
    return [cleanText(name, mostChars), shown] as const
  })
  // Defines, does not assign: "__proto__" stays a name.
  return Object.fromEntries(members)
}

/** `30 s`, `500 ms`: in the unit in which it is a whole number. */
export function durationText(ms: number): string {
  return ms % 1000 === 0 ? `${ms / 1000} s` : `${ms} ms`
}
