import { isLoopback } from '../util/address.ts'
import { type Result, fail, ok } from '../util/result.ts'

/**
 * The issuer identifier of an OAuth provider (RFC 8414, section 2), as it was given: tokens and the
 * provider's own documents must name it character by character. The failure says what is wrong.
 */
export function parseIssuerUrl(text: string): Result<string, string> {
  if (!/^https?:\/\/[\x21-\x7e]+$/.test(text) || !URL.canParse(text)) {
    return fail('the issuer must be an https address, like https://login.studio.example/realms/a')
  }
  const url = new URL(text)
  if (!isSafeFetchUrl(url)) {
    return fail('the issuer must be https; http is for providers on this machine alone')
  }
  if (url.username !== '' || url.password !== '') {
    return fail('the issuer must not have a user name or a password in it')
  }
  if (text.includes('?') || text.includes('#')) {
    return fail('the issuer must not have a query or a fragment')
  }
  return ok(text)
}

/** https, or plain http that never leaves the machine: nobody on the way can swap the keys. */
export function isSafeFetchUrl(url: URL): boolean {
  if (url.protocol === 'https:') return true
  return url.protocol === 'http:' && isLoopback(url.hostname)
}
