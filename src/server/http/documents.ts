import { type Context, Hono } from 'hono'
import { ServiceError } from '../../lib/util/errors.ts'
import { clientMetadataPath } from '../../lib/auth/cimd-document.ts'
import type { OAuthConfig } from '../../lib/auth/oauth-config.ts'
import type { AppEnv } from './app.ts'

/**
 * JSON documents by path, asked for at every request: what they say may depend on the address that
 * is known only once the server listens. Null: not served now, and the path answers a clean 404.
 */
export type PublicDocuments = ReadonlyMap<string, () => Readonly<object> | null>

/** What `/readyz` of a ready server says beside that. */
export type ReadyFacts = () => object | Promise<object>

interface PublicParts {
  isReady: () => boolean
  readyFacts?: ReadyFacts
  documents?: PublicDocuments
}

/** Paths anyone may ask for: health and the well-known documents. */
export function publicRoutes({ isReady, readyFacts, documents }: PublicParts): Hono<AppEnv> {
  const app = new Hono<AppEnv>()
  app.get('/healthz', c => c.json({ status: 'ok' }))
  app.get('/readyz', async c =>
    isReady()
      ? c.json({ status: 'ready', ...(await readyFacts?.()) })
      : c.json({ status: 'starting' }, 503),
  )
  for (const path of ['/healthz', '/readyz']) app.all(path, c => refuseMethod(c, 'GET'))
  for (const [path, read] of documents ?? []) {
    app.get(path, async (c, next) => {
      const document = read()
      if (document !== null) return c.json(document, 200, { 'Cache-Control': 'no-cache' })
      await next()
    })
    app.all(path, async (c, next) => {
      if (read() !== null && c.req.method !== 'GET') refuseMethod(c, 'GET, HEAD')
      await next()
    })
  }
  for (const [path, hint] of probeHints) {
    app.all(path, () => {
      // A client that registers reads the answer as an OAuth error and shows its description.
      const data = path === registrationPath ? oauthError(hint) : undefined
      throw new ServiceError('route_not_found', hint, { data })
    })
  }
  return app
}

function refuseMethod({ env, req }: Context<AppEnv>, allowed: string): never {
  env.outgoing.setHeader('Allow', allowed)
  throw new ServiceError('method_not_allowed', `${req.path} answers GET`)
}

function oauthError(description: string) {
  return { error: 'invalid_request', error_description: description }
}

const noProvider =
  'this server is no authorization server; where it takes OAuth tokens, /.well-known/oauth-protected-resource/mcp names the one that issues them'
const noOAuth =
  'this server takes no OAuth tokens: if it asks for a key, send that as "Authorization: Bearer <key>"'

/** Where clients register when nothing names another place (2025-03-26, authorization). */
const registrationPath = '/register'

/**
 * Clients ask for these paths when they are refused, and show what they get to people, who then
 * look in the wrong place: the answer says what is really missing.
 */
const probeHints: ReadonlyMap<string, string> = new Map([
  ['/.well-known/oauth-protected-resource', noOAuth],
  ['/.well-known/oauth-protected-resource/mcp', noOAuth],
  ['/.well-known/oauth-authorization-server', noProvider],
  ['/.well-known/oauth-authorization-server/mcp', noProvider],
  ['/.well-known/openid-configuration', noProvider],
  ['/.well-known/openid-configuration/mcp', noProvider],
  ['/mcp/.well-known/openid-configuration', noProvider],
  [clientMetadataPath, 'OAuth is not configured on this server'],
  [
    registrationPath,
    'clients are not registered here: if this server asks for a key, send it as "Authorization: Bearer <key>"',
  ],
])

/**
 * The metadata document of the OAuth client that `oauth` describes, below the address at which
 * clients reach this server. Without any redirect URI there is none to serve.
 */
export function clientMetadata(oauth: OAuthConfig, baseUrl: () => string | null): PublicDocuments {
  const read = () =>
    oauth.redirectUri === null ? null : oauth.toCimdDocument({ publicUrl: baseUrl() }).toDict()
  return new Map([[clientMetadataPath, read]])
}
