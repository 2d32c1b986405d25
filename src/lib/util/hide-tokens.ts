/** Service and refresh tokens, invitations, reset codes, keys and JWTs, wherever somebody put one. */
const tokenLike = /(?:svc|srt|inv|rst|smk)_[A-Za-z0-9_-]{8,}|eyJ[A-Za-z0-9_.-]{16,}/g

/** The text as a log or an error message may show it. */
export function hideTokens(text: string): string {
  return text.replace(tokenLike, '[redacted]')
}
