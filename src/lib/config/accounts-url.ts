import { isExposed } from '../util/net.ts'
import { usage } from '../util/errors.ts'

/** Address of an accounts server; `url` is the one spelling that tokens are saved under. */
export type AccountsUrl = ReturnType<typeof requireAccountsUrl>

/**
 * The accounts server that the user named by `source` (`--registry`, `SERVICE_REGISTRY`, a file).
 * Throws `usage_invalid` without repeating the text, which may hold a password; also for plain http
 * to another machine, where others on the network would read a secret.
 */
export function requireAccountsUrl(text: string, source: string) {
  const trimmed = text.trim()
  const parsed = URL.parse(trimmed)
  const refuse = (what: string) =>
    usage(`the address of ${source} ${what}`, 'write it as https://registry.example.com')
  // A parser drops or replaces some characters: the address would not be the one that was written.
  if (parsed === null || !/^https?:\/\/[^/\s\\]/i.test(trimmed) || /[\s\\]/.test(trimmed)) {
    throw refuse('is not a URL that begins with https:// or http://')
  }
  if (parsed.username + parsed.password !== '') throw refuse('holds a user name or password')
  if (/[?#]/.test(trimmed)) throw refuse('holds a query or fragment')
  const url = parsed.origin + parsed.pathname.replace(/\/+$/, '')
  if (isExposed(parsed)) {
    const secure = url.replace(/^http:/, 'https:')
    const hint = `use ${secure}; plain http is for this machine (127.0.0.1) alone`
    throw usage(`${url} would receive secrets over plain http`, hint)
  }
  return { url, origin: parsed.origin }
}
