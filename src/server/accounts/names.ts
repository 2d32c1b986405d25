/** Names that would be taken for the registry itself, or for nobody. */
const reserved: ReadonlySet<string> = new Set([
  'admin',
  'administrator',
  'anonymous',
  'api',
  'me',
  'null',
  'root',
  'service',
  'system',
  'undefined',
])

/** What is unique of a user name, which is ASCII (lib/accounts/wire.ts). */
export function foldUsername(username: string): string {
  return username.toLowerCase()
}

/** What is unique of an email address: all of it, without regard to case. */
export function foldEmail(email: string): string {
  return email.normalize('NFC').toLowerCase()
}

/** The name that somebody logs in with: a user name has no `@`, an address has one. */
export function foldLogin(name: string): string {
  return name.includes('@') ? foldEmail(name) : foldUsername(name)
}

export function isReservedName(username: string): boolean {
  return reserved.has(foldUsername(username))
}

const maxLocalChars = 64

/** RFC 5321, section 4.5.3.1.1; the form itself was checked before. */
export function isMailable(email: string): boolean {
  return email.lastIndexOf('@') <= maxLocalChars
}
