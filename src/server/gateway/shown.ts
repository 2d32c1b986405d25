import { cleanText } from '../../lib/clean-text.ts'
import { isSensitiveName } from '../../lib/sensitive-name.ts'
import { boundedJson } from '../resources/bounded-json.ts'
import type { GatewayLimits } from './limits.ts'

export type ShownLimits = Pick<
  GatewayLimits,
  'maxRecordTextChars' | 'maxRecordSceneChars' | 'maxRecordMetadataBytes' | 'maxRecordDepth'
>

/**
 * Texts of records as they leave the process. Somebody else wrote them, so they are data: one
 * line, without controls, of a bounded length. The directory promises as much; this holds it.
 */
export function shownText(text: string, { maxRecordTextChars }: ShownLimits): string {
  return cleanText(text, maxRecordTextChars)
}

/** The same for a path or a URL. */
export function shownPath(text: string, { maxRecordSceneChars }: ShownLimits): string {
  return cleanText(text, maxRecordSceneChars)
}

/** Texts and names cleaned, secrets hidden by their names; or how large it is, when too large. */
export function shownMetadata(
  metadata: Readonly<Record<string, unknown>>,
  limits: ShownLimits,
): unknown {
  const bounds = { maxBytes: limits.maxRecordMetadataBytes, maxDepth: limits.maxRecordDepth }
  return boundedJson(metadata, bounds, (name, value) => {
    if (isSensitiveName(name) && value !== undefined) return '[redacted]'
    if (typeof value === 'string') return shownText(value, limits)
    return withCleanNames(value, limits)
  })
}

function withCleanNames(value: unknown, limits: ShownLimits): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const members = Object.entries(value)
  const cleaned = members.map(([name, member]) => [shownText(name, limits), member] as const)
  const isClean = cleaned.every(([name], at) => name === members[at]?.[0])
  return isClean ? value : Object.fromEntries(cleaned)
}
