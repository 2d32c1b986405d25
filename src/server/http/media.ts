/** `application/json` with any parameters, as RFC 9110 writes it. */
export function isJsonType(contentType: string | undefined): boolean {
  if (contentType === 'application/json') return true
  return contentType?.split(';', 1)[0]?.trim().toLowerCase() === 'application/json'
}

/** A body as it is: nothing here takes a compressed one apart. */
export function isUncoded(contentEncoding: string | undefined): boolean {
  return contentEncoding === undefined || /^(identity)?$/i.test(contentEncoding)
}

/** Of the last Accept header: clients send one over and over. */
let last = { header: '', ranges: rangesOf('') }

/**
 * Whether an Accept header allows the media type (lower case, no parameters). A missing header
 * allows everything; of several ranges that match, the most specific one decides (RFC 9110, 12.5.1).
 */
export function accepts(header: string | undefined, mediaType: string): boolean {
  if (header === undefined || header === '*/*') return true
  if (header !== last.header) last = { header, ranges: rangesOf(header) }
  const { ranges } = last
  const group = `${mediaType.slice(0, mediaType.indexOf('/'))}/*`
  return ranges.get(mediaType) ?? ranges.get(group) ?? ranges.get('*/*') ?? false
}

/** Whether each media range is allowed: `q=0` excludes it. */
function rangesOf(header: string): ReadonlyMap<string, boolean> {
  return new Map(
    header.split(',').map(range => {
      const [type = '', ...parameters] = range.split(';').map(part => part.trim().toLowerCase())
      return [type, !parameters.some(each => /^q=0(\.0*)?$/.test(each))]
    }),
  )
}
