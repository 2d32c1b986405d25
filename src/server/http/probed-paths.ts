const noProvider =
  'this server is no authorization server; where it takes OAuth tokens, /.well-known/oauth-protected-resource/mcp names the one that issues them'
const noOAuth =
  'this server takes no OAuth tokens: if it asks for a key, send that as "Authorization: Bearer <key>"'

/** Where clients register when nothing names another place (2025-03-26, authorization). */
export const registrationPath = '/register'

/**
 * Clients ask for these paths when they are refused, and show what they get to people, who then
 * look in the wrong place: the answer says what is really missing.
 */
const answers: ReadonlyMap<string, string> = new Map([
  ['/.well-known/oauth-protected-resource', noOAuth],
  ['/.well-known/oauth-protected-resource/mcp', noOAuth],
  ['/.well-known/oauth-authorization-server', noProvider],
  ['/.well-known/oauth-authorization-server/mcp', noProvider],
  ['/.well-known/openid-configuration', noProvider],
  ['/.well-known/openid-configuration/mcp', noProvider],
  ['/mcp/.well-known/openid-configuration', noProvider],
  ['/.well-known/oauth-client-metadata', 'OAuth is not configured on this server'],
  [
    registrationPath,
    'clients are not registered here: if this server asks for a key, send it as "Authorization: Bearer <key>"',
  ],
])

/** Why one of the paths that clients probe answers 404; null for any other path. */
export function whyNothingIsServed(path: string): string | null {
  return answers.get(path) ?? null
}
