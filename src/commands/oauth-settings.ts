import { OAuthConfig, type OAuthOptions, parseIssuerUrl } from '../lib/auth/oauth-config.ts'
import { messageOf, usage } from '../lib/util/errors.ts'
import type { OAuthSettings } from '../server/auth/settings.ts'

export interface OAuthFlags {
  'oauth-issuer'?: string
  'oauth-audience'?: string
  'oauth-scope'?: string
  'oauth-write-scope'?: string
  'oauth-client-name'?: string
  'oauth-redirect-uri'?: string
}

const names = [
  'oauth-issuer',
  'oauth-audience',
  'oauth-scope',
  'oauth-write-scope',
  'oauth-client-name',
  'oauth-redirect-uri',
] as const

/** Throws `usage_invalid`, naming the flag. */
export function readOAuth(flags: OAuthFlags): OAuthSettings {
  for (const name of names) {
    if (flags[name] === '')
      throw usage(`--${name} is empty`, 'a variable in your shell may be unset')
  }
  const issuer = flags['oauth-issuer']
  if (issuer === undefined) {
    throw usage('--auth oauth needs the provider', 'name it with --oauth-issuer https://…')
  }
  const checked = parseIssuerUrl(issuer)
  if (!checked.ok) throw usage(`--oauth-issuer: ${checked.failure}`)
  /** The library says what is wrong with a member; here it is the value of a flag. */
  const check = (
    name: 'oauth-scope' | 'oauth-write-scope' | 'oauth-redirect-uri',
    membersOf: (value: string) => Partial<OAuthOptions>,
  ): string | undefined => {
    const value = flags[name]
    try {
      if (value !== undefined) new OAuthConfig({ providerUrl: issuer, ...membersOf(value) })
    } catch (error) {
      throw usage(`--${name} ${messageOf(error).replace(/^\S+ /, '')}`)
    }
    return value
  }
  return {
    mode: 'oauth',
    issuer,
    audience: flags['oauth-audience'],
    requiredScope: check('oauth-scope', scope => ({ scopes: [scope] })),
    writeScope: check('oauth-write-scope', scope => ({ scopes: [scope] })),
    clientName: flags['oauth-client-name'],
    redirectUri: check('oauth-redirect-uri', redirectUri => ({ redirectUri })),
  }
}

/** Refuses settings that would have no effect. */
export function refuseOAuthFlags(flags: OAuthFlags): void {
  const given = names.find(name => flags[name] !== undefined)
  if (given !== undefined) throw usage(`--${given} is for --auth oauth`, 'add --auth oauth')
}
