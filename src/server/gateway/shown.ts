import { cleanText } from '../../lib/util/clean-text.ts'
import type { GatewayLimits } from '../../lib/config/gateway-limits.ts'

export type ShownLimits = Pick<
  GatewayLimits,
  | 'maxRecordTextChars'
  | 'maxRecordSceneChars'
  | 'maxRecordUrlChars'
  | 'maxRecordMetadataBytes'
  | 'maxRecordDepth'
>

/**
 * Texts of records as they leave the process. Somebody else wrote them, so they are data: one
 * line, without controls, of a bounded length. The directory promises as much; this holds it.
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
