import { isLoopback } from '../util/net.ts'
import { usage } from '../util/errors.ts'
import { fail, ok, type Result } from '../util/result.ts'

/** Address of an accounts server. */
export interface AccountsUrl {
  /** The one spelling that tokens are saved under, without a slash at the end. */
  readonly url: string
  readonly origin: string
  /** Plain http to another machine: others on the network would read a secret. */
  readonly exposed: boolean
}

/** The failure completes the sentence "the address …". */
export function parseAccountsUrl(text: string): Result<AccountsUrl, string> {
  const trimmed = text.trim()
  const url = URL.parse(trimmed)
  // A parser drops or replaces some characters: the address would not be the one that was written.
  if (url === null || !/^https?:\/\/[^/\s\\]/i.test(trimmed) || /[\s\\]/.test(trimmed)) {
    return fail('is not a URL that begins with https:// or http://')
  }
  if (url.username !== '' || url.password !== '') return fail('holds a user name or password')
  if (/[?#]/.test(trimmed)) return fail('holds a query or fragment')
  return ok({
    url: url.origin + url.pathname.replace(/\/+$/, ''),
    origin: url.origin,
    exposed: url.protocol === 'http:' && !isLoopback(url.hostname),
  })
}

/**
 * The accounts server that the user named by `source` (`--registry`, `SERVICE_REGISTRY`, a file).
 * Throws `usage_invalid` without repeating the text, which may hold a password.
 */
export function requireAccountsUrl(text: string, source: string): AccountsUrl {
  const parsed = parseAccountsUrl(text)
  if (!parsed.ok) {
    const hint = 'write it as https://registry.example.com'
    throw usage(`the address of ${source} ${parsed.failure}`, hint)
  }
  const { url, exposed } = parsed.value
  if (exposed) {
    const secure = url.replace(/^http:/, 'https:')
    const hint = `use ${secure}; plain http is for this machine (127.0.0.1) alone`
    throw usage(`${url} would receive secrets over plain http`, hint)
  }
  return parsed.value
}
