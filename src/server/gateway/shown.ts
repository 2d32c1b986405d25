import { cleanText } from '../../lib/clean-text.ts'
import { isSensitiveName } from '../../lib/sensitive-name.ts'
import { boundedJson } from '../resources/bounded-json.ts'
import type { GatewayResourceLimits } from './resource-limits.ts'

type ShownLimits = Pick<GatewayResourceLimits, 'maxRowTextChars' | 'maxRowMetadataBytes'>

const maxDepth = 16

/**
 * What somebody else wrote is data: on one line, without controls, of a bounded length. The
 * directory promises as much of its records; this is where they leave the process.
 */
export function shownText(text: string, { maxRowTextChars }: ShownLimits): string {
  return cleanText(text, maxRowTextChars)
}

export function shownTextOrNull(text: string | null, limits: ShownLimits): string | null {
  return text === null ? null : shownText(text, limits)
}

/** The metadata with its texts cleaned, secrets hidden by their names, or how large they are. */
export function shownMetadata(
  metadata: Readonly<Record<string, unknown>>,
  limits: ShownLimits,
): unknown {
  const bounds = { maxBytes: limits.maxRowMetadataBytes, maxDepth }
  return boundedJson(metadata, bounds, (name, value) => {
    if (isSensitiveName(name) && value !== undefined) return '[redacted]'
    if (typeof value === 'string') return shownText(value, limits)
    return withCleanNames(value, limits)
  })
}

function withCleanNames(value: unknown, limits: ShownLimits): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const names = Object.keys(value)
  if (names.every(name => shownText(name, limits) === name)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [shownText(name, limits), member]),
  )
}
