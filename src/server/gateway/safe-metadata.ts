import { cleanText } from '../../lib/util/clean-text.ts'
import { type JsonObject, isJsonObject } from '../../lib/util/json.ts'
import { isSecretMember } from '../../lib/util/sensitive-name.ts'
import { boundedJson } from '../resources/bounded-json.ts'
import type { GatewayLimits } from '../../lib/config/gateway-limits.ts'

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
