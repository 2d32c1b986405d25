import { parseSecret, readSecretFile } from '../lib/auth/secret-file.ts'
import { requireAccountsUrl } from '../lib/config/accounts-url.ts'
import { Secret } from '../lib/util/secret.ts'
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
  if (file !== undefined) {
    const settings = { mounted: true }
    return async () => new Secret(await readSecretFile(file, '--join-token-file', settings))
  }
  const { SERVICE_JOIN_TOKEN: variable } = env
  return variable ? async () => new Secret(parseSecret(variable, 'SERVICE_JOIN_TOKEN')) : null
}

/** The address of a gateway to join, without `/mcp`. Throws `usage_invalid`. */
export function readGatewayUrl(text: string): string {
  return requireAccountsUrl(text, '--join').url.replace(/\/mcp$/, '')
}
