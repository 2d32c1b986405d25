import { crc32 } from 'node:zlib'

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
