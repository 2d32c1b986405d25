import { parseToken, readTokenFile } from '../lib/accounts/token.ts'
import { parseAccountsUrl, refuseExposed } from '../lib/config/accounts-url.ts'
import { usage } from '../lib/util/errors.ts'
import type { Secret } from '../lib/util/secret.ts'
import { checkPath } from './path-flags.ts'

/**
 * Reads the token of `serve --join` anew at each call: from the file of `--join-token-file`, else
 * from the variable. Null when neither is given.
 */
export function readJoinToken(
  flags: { 'join-token-file'?: string },
  env: NodeJS.ProcessEnv,
): (() => Promise<Secret>) | null {
  const file = checkPath('join-token-file', flags['join-token-file'])
  const { SERVICE_JOIN_TOKEN: variable } = env
  if (file === undefined && !variable) return null
  return async () =>
    file === undefined
      ? parseToken(variable ?? '', 'SERVICE_JOIN_TOKEN')
      : readTokenFile(file, '--join-token-file')
}

/** The address of a gateway to join, without `/mcp`. Throws `usage_invalid`. */
export function readGatewayUrl(text: string): string {
  const parsed = parseAccountsUrl(text)
  if (!parsed.ok) {
    throw usage('--join is not the address of a gateway', 'write it as https://gateway.example.com')
  }
  refuseExposed(parsed.value)
  return parsed.value.url.replace(/\/mcp$/, '')
}
