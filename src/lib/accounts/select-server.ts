import { type AccountsUrl, requireAccountsUrl } from '../config/accounts-url.ts'

/** Where `service-cli registry` listens by default. */
const builtIn = 'http://127.0.0.1:8780'

/**
 * Which accounts server is meant: `--registry`, then `SERVICE_REGISTRY`, then `default_registry` of
 * the file, then its only login, then the one of this machine. An empty text counts as absent.
 * Throws `usage_invalid`.
 */
export function selectAccountsServer(given: {
  option: string | undefined
  variable: string | undefined
  file: string | undefined
  /** The only login that the file has. */
  onlyLogin?: string
  filePath: string
}): AccountsUrl {
  const named: readonly [text: string | undefined, source: string][] = [
    [given.option, '--registry'],
    [given.variable, 'SERVICE_REGISTRY'],
    [given.file, `default_registry in ${given.filePath}`],
    [given.onlyLogin, `the only login in ${given.filePath}`],
  ]
  for (const [text, source] of named) {
    if (text !== undefined && text.trim() !== '') return requireAccountsUrl(text, source)
  }
  return requireAccountsUrl(builtIn, 'the built-in default')
}
