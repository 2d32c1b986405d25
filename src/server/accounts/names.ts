import { crc32 } from 'node:zlib'

/** Names that look like the accounts server itself, or like no user. */
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

/** The key of the name in a login: a user name has no `@`, an address has one. */
export function foldLogin(name: string): string {
  return name.includes('@') ? foldEmail(name) : foldUsername(name)
}

export function isReservedName(username: string): boolean {
  return reserved.has(foldUsername(username))
}

const checkChars = 8

/** With a check sum behind it: mistyped and cut tokens are refused without a look at the store. */
export function withCheckSum(text: string): string {
  return text + checkSum(text)
}

/** The text before a right check sum, else null. */
export function withoutCheckSum(text: string): string | null {
  const body = text.slice(0, -checkChars)
  return text.length > checkChars && text.slice(-checkChars) === checkSum(body) ? body : null
}

function checkSum(text: string): string {
  return crc32(text).toString(16).padStart(checkChars, '0')
}
