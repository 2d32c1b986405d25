import * as Flags from '@oclif/core/flags'
import type { AuthMode } from './auth-mode.ts'

const authModes = ['none', 'api-key', 'oauth'] as const satisfies readonly AuthMode[]

/** Of the servers that MCP clients connect to: who may use them; `auth-settings.ts` checks the values. */
export const authFlags = {
  auth: Flags.option({ options: authModes })({
    description:
      'who may connect: none (everyone who reaches it), api-key, oauth [default: api-key once a key is configured, else none]',
    helpValue: 'MODE',
  }),
  'api-key-file': Flags.string({
    description: 'file with the key clients must present; before SERVICE_MCP_API_KEY',
    helpValue: 'FILE',
  }),
  'keys-file': Flags.string({
    description: 'file of the named keys [default: keys.json beside the configuration]',
    helpValue: 'FILE',
  }),
  'allow-unauthenticated': Flags.boolean({
    description:
      'let other machines in (--host, --public-url, --trusted-proxy) without authentication',
    default: false,
  }),
  'oauth-issuer': Flags.string({
    description: 'the OAuth provider whose tokens are accepted, with --auth oauth',
    helpValue: 'URL',
  }),
  'oauth-audience': Flags.string({
    description: 'what tokens must be issued for [default: the address of /mcp]',
    helpValue: 'AUDIENCE',
  }),
  'oauth-other-audience': Flags.string({
    description: 'an audience that tokens may have beside it (repeatable) [default: none]',
    helpValue: 'AUDIENCE',
    multiple: true,
    multipleNonGreedy: true,
  }),
  'oauth-token-type': Flags.option({ options: ['at+jwt', 'jwt'] as const })({
    description: 'how the provider marks access tokens; jwt: it does not [default: at+jwt]',
    helpValue: 'TYPE',
  }),
  'oauth-scope': Flags.string({
    description: 'a scope that every token must have',
    helpValue: 'SCOPE',
  }),
  'oauth-write-scope': Flags.string({
    description: 'the scope of tokens that may do more than read',
    helpValue: 'SCOPE',
  }),
  'oauth-client-name': Flags.string({
    description: 'name of the client in its metadata document',
    helpValue: 'TEXT',
  }),
  'oauth-redirect-uri': Flags.string({
    description: 'callback of the client; its metadata document is served then',
    helpValue: 'URI',
  }),
}
