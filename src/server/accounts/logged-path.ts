const maxChars = 200
/** Tokens, invitations, codes, and JWTs, wherever in a path somebody put one. */
const secretLike = /(?:svc|srt|inv|rst)_[A-Za-z0-9_-]{8,}|eyJ[A-Za-z0-9_.-]{16,}/g

/** A path as the log may show it. */
export function loggedPath(path: string): string {
  const clean = path.replace(secretLike, '[redacted]')
  return clean.length > maxChars ? `${clean.slice(0, maxChars)}…` : clean
}
