import { OAuthConfig, parseIssuerUrl } from '../lib/auth/oauth-config.ts'
import { messageOf, usage } from '../lib/util/errors.ts'
import type { OAuthSettings } from '../server/auth/settings.ts'

export interface OAuthFlags {
  'oauth-issuer'?: string | undefined
  'oauth-audience'?: string | undefined
  'oauth-other-audience'?: string[] | undefined
  'oauth-token-type'?: 'at+jwt' | 'jwt' | undefined
  'oauth-scope'?: string | undefined
  'oauth-write-scope'?: string | undefined
  'oauth-client-name'?: string | undefined
  'oauth-redirect-uri'?: string | undefined
}

const names = [
  'oauth-issuer',
  'oauth-audience',
  'oauth-other-audience',
  'oauth-token-type',
  'oauth-scope',
  'oauth-write-scope',
  'oauth-client-name',
  'oauth-redirect-uri',
] as const

/** Throws `usage_invalid`, naming the flag. */
export function readOAuth(flags: OAuthFlags): OAuthSettings {
  for (const name of names) {
    if ([flags[name]].flat().includes(''))
      throw usage(`--${name} is empty`, 'a variable in your shell may be unset')
  }
  const issuer = flags['oauth-issuer']
  if (issuer === undefined) {
    throw usage('--auth oauth needs the provider', 'name it with --oauth-issuer https://…')
  }
  const checked = parseIssuerUrl(issuer)
  if (!checked.ok) throw usage(`--oauth-issuer: ${checked.failure}`)
  const audience = flags['oauth-audience']
  const otherAudiences = flags['oauth-other-audience']
  const tokenType = flags['oauth-token-type']
  const requiredScope = checkScope(issuer, 'oauth-scope', flags['oauth-scope'])
  const writeScope = checkScope(issuer, 'oauth-write-scope', flags['oauth-write-scope'])
  const clientName = flags['oauth-client-name']
  const redirectUri = flags['oauth-redirect-uri']
  if (redirectUri !== undefined) {
    check('oauth-redirect-uri', () => new OAuthConfig({ providerUrl: issuer, redirectUri }))
  }
  return {
    mode: 'oauth',
    issuer,
    ...(audience !== undefined && { audience }),
    ...(otherAudiences !== undefined && { otherAudiences }),
    ...(tokenType !== undefined && { tokenType }),
    ...(requiredScope !== undefined && { requiredScope }),
    ...(writeScope !== undefined && { writeScope }),
    ...(clientName !== undefined && { clientName }),
    ...(redirectUri !== undefined && { redirectUri }),
  }
}

/** What is given and would have no effect is a mistake of whoever wrote it. */
export function refuseOAuthFlags(flags: OAuthFlags): void {
  const given = names.find(name => flags[name] !== undefined)
  if (given !== undefined) throw usage(`--${given} is for --auth oauth`, 'add --auth oauth')
}

function checkScope(
  providerUrl: string,
  flag: string,
  scope: string | undefined,
): string | undefined {
  if (scope !== undefined) check(flag, () => new OAuthConfig({ providerUrl, scopes: [scope] }))
  return scope
}

/** The library says what is wrong with a member; here it is the value of a flag. */
function check(flag: string, make: () => unknown): void {
  try {
    make()
  } catch (error) {
    throw usage(`--${flag} ${messageOf(error).replace(/^\S+ /, '')}`)
  }
}
