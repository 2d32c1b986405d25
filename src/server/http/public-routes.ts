import { type Context, Hono } from 'hono'
import { shortened } from './access-log.ts'
import { makeProblem } from './problem.ts'
import { clientMetadataPath } from '../../lib/auth/cimd-document.ts'
import type { OAuthConfig } from '../../lib/auth/oauth-config.ts'

/**
 * JSON documents by path, asked for at every request: what they say may depend on the address that
 * is known only once the server listens. Null: not served now, and the path answers a clean 404.
 */
export type PublicDocuments = ReadonlyMap<string, () => Readonly<object> | null>

/** What `/readyz` of a ready server says beside that. */
export type ReadyFacts = () => object | Promise<object>

interface PublicRoutesParts {
  readonly isReady: () => boolean
  readonly readyFacts?: ReadyFacts
  readonly documents?: PublicDocuments
}

/** Paths anyone may ask for: health, the well-known documents, and a clean 404 for the rest. */
export function createPublicRoutes({ isReady, readyFacts, documents }: PublicRoutesParts): Hono {
  const app = new Hono()
  app.get('/healthz', c => c.json({ status: 'ok' }))
  app.get('/readyz', async c =>
    isReady()
      ? c.json({ status: 'ready', ...(await readyFacts?.()) })
      : c.json({ status: 'starting' }, 503),
  )
  for (const path of ['/healthz', '/readyz']) {
    app.all(path, () =>
      publicProblem(405, 'method-not-allowed', `${path} answers GET`, { Allow: 'GET' }),
    )
  }
  for (const [path, read] of documents ?? []) app.all(path, c => document(c, path, read()))
  app.notFound(notServed)
  app.onError(() => publicProblem(500, 'internal', 'the request failed'))
  return app
}

/** RFC 9457. Clients probe the well-known paths and read the body as JSON. */
export function publicProblem(
  status: number,
  code: string,
  detail: string,
  headers: Record<string, string> = {},
  members: Record<string, string> = {},
): Response {
  return new Response(JSON.stringify({ ...makeProblem(status, code, detail), ...members }), {
    status,
    headers: { ...headers, 'Content-Type': 'application/problem+json' },
  })
}

function document(c: Context, path: string, content: object | null): Response {
  if (content === null) return notServed(c)
  if (c.req.method !== 'GET' && c.req.method !== 'HEAD') {
    const allow = { Allow: 'GET, HEAD' }
    return publicProblem(405, 'method-not-allowed', `${path} answers GET`, allow)
  }
  const headers = { 'Content-Type': 'application/json', 'Cache-Control': 'no-cache' }
  return new Response(JSON.stringify(content), { headers })
}

function notServed(c: Context): Response {
  const detail = whyNothingIsServed(c.req.path) ?? `nothing is served at ${shortened(c.req.path)}`
  // A client that registers reads the answer as an OAuth error and shows its description.
  const members: Record<string, string> =
    c.req.path === registrationPath ? { error: 'invalid_request', error_description: detail } : {}
  return publicProblem(404, 'route-not-found', detail, {}, members)
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
function whyNothingIsServed(path: string): string | null {
  return answers.get(path) ?? null
}

/**
 * The metadata document of the OAuth client that `oauth` describes, below the address at which
 * clients reach this server. Without any redirect URI there is none to serve.
 */
export function clientMetadata(oauth: OAuthConfig, baseUrl: () => string | null): PublicDocuments {
  const read = () =>
    oauth.redirectUri === null ? null : oauth.toCimdDocument({ publicUrl: baseUrl() }).toDict()
  return new Map([[clientMetadataPath, read]])
}
