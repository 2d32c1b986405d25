import { parseAccept } from 'hono/utils/accept'

/** `application/json` with any parameters, as RFC 9110 writes it. */
export function isJsonType(contentType: string | undefined): boolean {
  if (contentType === 'application/json') return true
  return contentType?.split(';', 1)[0]?.trim().toLowerCase() === 'application/json'
}

/** A body as it is: nothing here takes a compressed one apart. */
export function isUncoded(contentEncoding: string | undefined): boolean {
  return contentEncoding === undefined || /^(identity)?$/i.test(contentEncoding)
}

/** The last Accept header: clients send one over and over. */
let last = { header: '', ranges: parseAccept('') }

/**
 * Whether an Accept header allows the media type (lower case, no parameters). A missing header
 * allows everything; of several ranges that match, the most specific one decides (RFC 9110, 12.5.1).
 */
export function accepts(header: string | undefined, mediaType: string): boolean {
  if (header === undefined || header === '*/*') return true
  if (header !== last.header) last = { header, ranges: parseAccept(header.toLowerCase()) }
  const group = `${mediaType.slice(0, mediaType.indexOf('/'))}/*`
  for (const type of [mediaType, group, '*/*']) {
    const range = last.ranges.find(each => each.type === type)
    if (range !== undefined) return range.q > 0
  }
  return false
}
