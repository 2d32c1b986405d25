const prefix = '=?base64?'
const suffix = '?='
/** RFC 4648, section 4, with its padding. */
const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/
const plain = /^[\t\x20-\x7e]*$/
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * The text that an `Mcp-Name` header stands for: itself, or the UTF-8 behind `=?base64?…?=`. Null
 * for what no client may send.
 */
export function decodeHeaderValue(value: string): string | null {
  if (!value.startsWith(prefix) || !value.endsWith(suffix)) return plain.test(value) ? value : null
  const encoded = value.slice(prefix.length, -suffix.length)
  if (!base64.test(encoded)) return null
  try {
    return utf8.decode(Buffer.from(encoded, 'base64'))
  } catch {
    return null
  }
}
