import { Hono } from 'hono'
import { ServiceError } from '../../lib/util/errors.ts'
import { clientMetadataPath, type OAuthConfig } from '../../lib/auth/oauth-config.ts'
import { shortened } from './access-log.ts'
import type { AppEnv } from './app.ts'

/**
 * JSON documents by path, asked for at every request: what they say may depend on the address that
 * is known only once the server listens.
 */
export type PublicDocuments = ReadonlyMap<string, () => Readonly<object>>

/** What `/readyz` says beside that the server is ready, once it is. */
export type ReadyFacts = () => object | Promise<object>

/** Paths anyone may ask for: health and the well-known documents. */
export function publicRoutes(documents?: PublicDocuments, readyFacts?: ReadyFacts): Hono<AppEnv> {
  const app = new Hono<AppEnv>()
  app.get('/healthz', c => c.json({ status: 'ok' }))
  app.get('/readyz', async c => c.json({ status: 'ready', ...(await readyFacts?.()) }))
  for (const [path, read] of documents ?? []) {
    app.get(path, c => c.json(read(), 200, { 'Cache-Control': 'no-cache' }))
  }
  app.all('/register', () => {
    // A client without a key asks to be registered, and shows the OAuth error in the answer.
    const data = { error: 'invalid_request', error_description: noRegistration }
    throw new ServiceError('route_not_found', noRegistration, { data })
  })
  app.notFound(({ req }) => {
    throw new ServiceError('route_not_found', `nothing is served at ${shortened(req.path)}`)
  })
  return app
}

const noRegistration =
  'clients are not registered here: if this server asks for a key, send it as "Authorization: Bearer <key>"'

/**
 * The metadata document of the OAuth client that `oauth` describes, below the address at which
 * clients reach this server. Without any redirect URI there is none to serve.
 */
export function clientMetadata(oauth: OAuthConfig, baseUrl: () => string | null): PublicDocuments {
  if (oauth.redirectUri === null) return new Map()
  const read = () => oauth.toCimdDocument({ publicUrl: baseUrl() }).toDict()
  return new Map([[clientMetadataPath, read]])
}
