import { isLoopback } from '../util/net.ts'
import { ServiceError } from '../util/errors.ts'
import { type Result, fail, ok } from '../util/result.ts'

/** Address of an accounts server. `url` is the one spelling that tokens are stored under. */
export interface AccountsUrl {
  /** `https://registry.studio.example`, `https://studio.example/registry`: no slash at the end. */
  readonly url: string
  /** `https://registry.studio.example`: for the `Host`, never with a path. */
  readonly origin: string
  /** Only this machine reaches it: plain http is safe, and no proxy is to see it. */
  readonly loopback: boolean
  /** Plain http to another machine: no secret may be sent there. */
  readonly exposed: boolean
}

type AccountsUrlFault =
  'not_a_url' | 'wrong_scheme' | 'with_credentials' | 'with_query' | 'with_text_that_is_no_address'

const faults: Readonly<Record<AccountsUrlFault, string>> = {
  not_a_url: 'is no URL',
  wrong_scheme: 'does not begin with https:// (or http:// on this machine)',
  with_credentials: 'holds a user name or password',
  with_query: 'holds a query or fragment',
  with_text_that_is_no_address: 'holds spaces, control characters or backslashes',
}

/** What a URL parser would silently drop or turn into something else. */
const notInAddress = /[\s\u0000-\u001f\u007f-\u009f\\]/
const maxUrlChars = 2048

/** Two spellings of one address give the same `url`. */
export function parseAccountsUrl(text: string): Result<AccountsUrl, AccountsUrlFault> {
  const trimmed = text.trim()
  if (notInAddress.test(trimmed)) return fail('with_text_that_is_no_address')
  if (trimmed.length > maxUrlChars || !URL.canParse(trimmed)) return fail('not_a_url')
  const { protocol, username, password, search, hash, origin, pathname, hostname } = new URL(
    trimmed,
  )
  if (protocol !== 'https:' && protocol !== 'http:') return fail('wrong_scheme')
  if (!/^https?:\/\/[^/]/i.test(trimmed)) return fail('not_a_url')
  if (username !== '' || password !== '') return fail('with_credentials')
  if (search !== '' || hash !== '' || /[?#]/.test(trimmed)) return fail('with_query')
  const loopback = isLoopback(hostname)
  return ok({
    url: origin + pathname.replace(/\/+$/, ''),
    origin,
    loopback,
    exposed: protocol === 'http:' && !loopback,
  })
}

/**
 * The accounts server that the user named by `source` (`--registry`, `SERVICE_REGISTRY`, a file).
 * Throws `usage_invalid`; the text itself is not repeated where it may hold a password.
 */
export function requireAccountsUrl(text: string, source: string): AccountsUrl {
  const parsed = parseAccountsUrl(text)
  if (!parsed.ok) {
    throw new ServiceError('usage_invalid', `the address of ${source} ${faults[parsed.failure]}`, {
      hint: 'write it as https://registry.example.com',
    })
  }
  refuseExposed(parsed.value)
  return parsed.value
}

/**
 * Throws `usage_invalid` for plain http to another machine: others on the network read the secret.
 */
export function refuseExposed({ url, exposed }: AccountsUrl): void {
  if (!exposed) return
  throw new ServiceError('usage_invalid', `${url} would receive secrets over plain http`, {
    hint: `use ${url.replace(/^http:/, 'https:')}; plain http is for this machine (127.0.0.1) alone`,
  })
}
