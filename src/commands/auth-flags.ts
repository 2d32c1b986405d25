import * as Flags from '@oclif/core/flags'
import type { AuthMode } from './auth-settings.ts'

export const authModes = ['none', 'api-key', 'oauth'] as const satisfies readonly AuthMode[]

/** The authentication flags of `serve` and `gateway`; `auth-settings.ts` checks the values. */
export const authFlags = {
  auth: Flags.option({ options: authModes })({
    description: 'none, api-key or oauth [default: none; api-key once a key is made]',
    helpValue: 'MODE',
  }),
  'api-key-file': Flags.string({
    description: 'file with the key clients must present; overrides SERVICE_MCP_API_KEY',
    helpValue: 'FILE',
  }),
  'keys-file': Flags.string({
    description: 'file of the keys [default: client-keys.json beside config.toml]',
    helpValue: 'FILE',
  }),
  'allow-unauthenticated': Flags.boolean({
    description: 'allow other machines to connect without authentication',
    default: false,
  }),
  'oauth-issuer': Flags.string({
    description: 'the OAuth provider whose tokens are accepted, with --auth oauth',
    helpValue: 'URL',
  }),
  'oauth-audience': Flags.string({
    description: 'required audience of tokens [default: the address of /mcp]',
    helpValue: 'AUDIENCE',
  }),
  'oauth-scope': Flags.string({ description: 'required scope of tokens', helpValue: 'SCOPE' }),
  'oauth-write-scope': Flags.string({
    description: 'scope for answering notes and removing events (a gateway only reads)',
    helpValue: 'SCOPE',
  }),
  'oauth-client-name': Flags.string({
    description: 'name of the client in its metadata document',
    helpValue: 'TEXT',
  }),
  'oauth-redirect-uri': Flags.string({
    description: 'callback of the client; enables its metadata document',
    helpValue: 'URI',
  }),
}
