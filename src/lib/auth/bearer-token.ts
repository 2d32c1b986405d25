const form = /^Bearer +([\x21-\x7e]+) *$/i
const tokenForm = /^[\x21-\x7e]+$/

/** The token of an `Authorization` header (RFC 6750, section 2.1), or null for anything else. */
export function bearerToken(header: string | undefined): string | null {
  return form.exec(header ?? '')?.[1] ?? null
}

/** Can such a header carry the text: visible ASCII, no spaces, and not empty? */
export function isTokenText(text: string): boolean {
  return tokenForm.test(text)
}
