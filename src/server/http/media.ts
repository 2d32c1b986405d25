/** `application/json` with any parameters, as RFC 9110 writes it. */
export function isJsonType(contentType: string | undefined): boolean {
  if (contentType === 'application/json') return true
  return contentType?.split(';', 1)[0]?.trim().toLowerCase() === 'application/json'
}

/** A body as it is: nothing here takes a compressed one apart. */
export function isUncoded(contentEncoding: string | undefined): boolean {
  return contentEncoding === undefined || /^(identity)?$/i.test(contentEncoding)
}

/**
 * Whether an Accept header allows the media type (lower case, no parameters). A missing header
 * allows everything; `q=0` excludes.
 */
export function accepts(header: string | undefined, mediaType: string): boolean {
  if (header === undefined || header === '*/*') return true
  const group = `${mediaType.slice(0, mediaType.indexOf('/'))}/*`
  return header.split(',').some(range => {
    const [type = '', ...parameters] = range.split(';').map(part => part.trim().toLowerCase())
    if (type !== mediaType && type !== group && type !== '*/*') return false
    return !parameters.some(parameter => /^q=0(\.0*)?$/.test(parameter))
  })
}
