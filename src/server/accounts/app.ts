import { type Context, Hono } from 'hono'
import { methodNotAllowed } from 'hono/method-not-allowed'
import { routePath } from 'hono/route'
import { openAPIRouteHandler } from 'hono-openapi'
import { version } from '../../lib/util/version.ts'
import { type AppEnv, createApp } from '../http/app.ts'
import type { Reach } from '../http/guard.ts'
import { readBody } from '../http/body.ts'
import { isJsonType, isUncoded } from '../http/media.ts'
import { type Metrics, metricsPath } from '../http/metrics.ts'
import { isLocalRequest } from '../http/trusted-proxies.ts'
import type { AccountsEnv } from './middleware.ts'
import { AccountsProblem, sendProblem, toAccountsProblem } from './problems.ts'
import { addRoutes, type Services } from './routes.ts'
import type { SigningKeys } from './signing-keys.ts'

interface AccountsParts extends Services {
  keys: SigningKeys
  reach: Reach
  /** Also told of every request, for the access log. */
  metrics: Metrics
}

const bodyLimits = { maxBytes: 16 * 1024, timeoutMs: 30_000 }

/** The accounts API. */
export function createAccountsApp(parts: AccountsParts): Hono<AppEnv> {
  const { log, reach, metrics } = parts
  return createApp({
    reach,
    routes: createRoutes(parts),
    onError(error, c) {
      const problem = toAccountsProblem(error)
      if (problem.status >= 500 && problem.code !== 'overloaded') {
        log.error({ err: problem.cause ?? problem }, 'a request failed')
      }
      setSafeHeaders(c)
      return sendProblem(c, problem)
    },
    onRefused() {},
    log,
    accessLog: metrics.accessLog,
  })
}

function setSafeHeaders(c: Context): void {
  c.header('Cache-Control', 'no-store')
  c.header('X-Content-Type-Options', 'nosniff')
}

function createRoutes(parts: AccountsParts): Hono<AccountsEnv> {
  const { store, keys, metrics } = parts
  const app = new Hono<AccountsEnv>()
  app.use(async (c, next) => {
    const route = routePath(c, -1)
    c.env.call.route = route === '/*' ? 'other' : route
    setSafeHeaders(c)
    await next()
  })
  app.use(async (c, next) => {
    const { incoming } = c.env
    const { headers } = incoming
    const isEmpty = (headers['content-length'] ?? '0') === '0' && !headers['transfer-encoding']
    // A web page can send other types without a preflight.
    const isJson = isJsonType(headers['content-type']) && isUncoded(headers['content-encoding'])
    if (!isEmpty && !isJson) {
      const message = 'the body must be application/json, without Content-Encoding'
      throw new AccountsProblem('unsupported-media-type', message)
    }
    // An empty body is none, whatever its type.
    if (isEmpty) c.req.raw.headers.delete('Content-Type')
    // `@hono/node-server` takes it from there.
    else Object.assign(incoming, { rawBody: await readBody(incoming, bodyLimits) })
    await next()
  })
  app.use(
    methodNotAllowed({
      app,
      onMethodNotAllowed(c, methods) {
        const allow = methods.join(', ')
        c.header('Allow', allow)
        const problem = new AccountsProblem('method-not-allowed', `this path answers ${allow}`)
        return sendProblem(c, problem)
      },
    }),
  )

  app.notFound(c => {
    // The path is not repeated: it may hold a token.
    const message = 'nothing is served at this path; see /openapi.json'
    return sendProblem(c, new AccountsProblem('not-found', message))
  })
  addRoutes(app, parts)

  app.get('/.well-known/jwks.json', c =>
    c.json(keys.current.jwks, 200, { 'Cache-Control': 'public, max-age=300' }),
  )
  app.get('/healthz', c => c.json({ status: 'ok' }))
  app.get('/readyz', async c => {
    await store.ping()
    return c.json({ status: 'ready' })
  })
  app.get(metricsPath, c => {
    // Counts of the whole server are for its machine.
    return isLocalRequest(c.env.incoming) ? metrics.send(c) : c.notFound()
  })
  app.get(
    '/openapi.json',
    openAPIRouteHandler(app, {
      documentation: { info, components: { securitySchemes } },
      excludeStaticFile: false,
      defaultValidationErrorResponse: false,
    }),
  )

  return app
}

const info = {
  title: 'service-cli registry',
  description: 'Accounts, sessions and tokens. docs/accounts.md says what stands behind it.',
  version,
}

const securitySchemes = {
  bearer: {
    type: 'http' as const,
    scheme: 'bearer',
    description: 'An access token or a service token',
  },
}
