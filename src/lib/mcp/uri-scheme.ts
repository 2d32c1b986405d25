/** The scheme of a URI of resources, without `:`; lower case, so that one has one spelling. */
export function isScheme(value: unknown): value is string {
  return typeof value === 'string' && /^[a-z][a-z0-9+.-]{0,63}$/.test(value)
}
