import { cleanText } from '../../lib/clean-text.ts'
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
