/** What a close frame has room for (RFC 6455, section 5.5, less the code). */
const maxReasonBytes = 123

/** A longer reason would be an error instead of a close. Cut at a character. */
export function fittingReason(reason: string): string {
  const bytes = Buffer.from(reason)
  if (bytes.length <= maxReasonBytes) return reason
  return `${bytes
    .subarray(0, maxReasonBytes - 3)
    .toString('utf8')
    .replace(/\ufffd+$/, '')}…`
}
