import { randomUUID } from 'node:crypto'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { methodNotAllowed } from 'hono/method-not-allowed'
import { routePath } from 'hono/route'
import { openAPIRouteHandler } from 'hono-openapi'
import { hideTokens } from '../../lib/util/secret.ts'
import { version } from '../../lib/util/version.ts'
import { logWhenClosed, shortened } from '../http/access-log.ts'
import { checkRequest } from '../http/guards.ts'
import { isJsonType, isUncoded } from '../http/media.ts'
import { type Metrics, metricsPath } from '../http/metrics.ts'
import type { RequestChecks } from '../http/request-checks.ts'
import { parseTarget } from '../http/request-target.ts'
import type { AccountsEnv } from './middleware.ts'
import { AccountsProblem, sendProblem, toAccountsProblem } from './problems.ts'
import { addRoutes, type Services } from './routes.ts'
import type { SigningKeys } from './signing-keys.ts'

interface AppParts {
  services: Services
  keys: SigningKeys
  checks: RequestChecks
  /** Also told of every request, for the access log. */
  metrics: Metrics
}

/** Methods of the routes, for pages of allowed origins. */
export const corsMethods = 'GET, POST, PUT, DELETE'

const maxBodyBytes = 16 * 1024

/** The accounts API: checks of every request, then the routes. */
export function createApp({ services, keys, checks, metrics }: AppParts): Hono<AccountsEnv> {
  const { log } = services
  const { guard, cors, peerOf } = checks
  const app = new Hono<AccountsEnv>()

  app.use(async (c, next) => {
    const { incoming, outgoing } = c.env
    c.set('requestId', randomUUID())
    c.set('address', peerOf(incoming))
    logWhenClosed(metrics, outgoing, () => {
      const route = routePath(c, -1)
      return {
        // A path may hold a token by mistake.
        path: shortened(hideTokens(c.req.path)),
        route: route === '/*' ? 'other' : route,
        rpc: undefined,
        principal: c.var.accountId ?? 'anonymous',
        peer: c.var.address,
        requestId: c.var.requestId,
      }
    })
    c.header('Cache-Control', 'no-store')
    c.header('X-Content-Type-Options', 'nosniff')
    cors.vary(outgoing)
    const refusal = checkRequest(incoming, parseTarget(incoming.url ?? ''), guard)
    if (refusal !== null) {
      const { reason, message } = refusal
      if (reason === 'host_not_allowed') throw new AccountsProblem('host-not-allowed', message)
      if (reason === 'origin_not_allowed') throw new AccountsProblem('origin-not-allowed', message)
      throw new AccountsProblem('malformed-request', message)
    }
    if (cors.admit(incoming, outgoing)) return RESPONSE_ALREADY_SENT
    await next()
  })

  app.use(async (c, next) => {
    const { headers } = c.env.incoming
    const isEmpty = (headers['content-length'] ?? '0') === '0' && !headers['transfer-encoding']
    // A web page can send other types without a preflight.
    const isJson = isJsonType(headers['content-type']) && isUncoded(headers['content-encoding'])
    if (!isEmpty && !isJson) {
      const message = 'the body must be application/json, without Content-Encoding'
      throw new AccountsProblem('unsupported-media-type', message)
    }
    // An empty body is none, whatever its type.
    if (isEmpty) c.req.raw.headers.delete('Content-Type')
    await next()
  })
  app.use(
    bodyLimit({
      maxSize: maxBodyBytes,
      onError() {
        const message = `the body is larger than ${maxBodyBytes} bytes`
        throw new AccountsProblem('body-too-large', message)
      },
    }),
  )
  app.use(
    methodNotAllowed({
      app,
      onMethodNotAllowed(c, methods) {
        const allow = methods.join(', ')
        c.header('Allow', allow)
        const problem = new AccountsProblem('method-not-allowed', `this path answers ${allow}`)
        return sendProblem(c, problem, c.get('requestId'))
      },
    }),
  )

  addRoutes(app, services)

  app.get('/.well-known/jwks.json', c =>
    c.json(keys.current.jwks, 200, { 'Cache-Control': 'public, max-age=300' }),
  )
  app.get('/healthz', c => c.json({ status: 'ok' }))
  app.get('/readyz', async c => {
    await services.store.ping()
    return c.json({ status: 'ready' })
  })
  app.get(metricsPath, c => {
    // Counts of the whole server are for its machine.
    if (!metrics.answers(c.env.incoming)) return c.notFound()
    metrics.send(c.env.outgoing)
    return RESPONSE_ALREADY_SENT
  })
  app.get(
    '/openapi.json',
    openAPIRouteHandler(app, {
      documentation: { info, components: { securitySchemes } },
      excludeStaticFile: false,
      defaultValidationErrorResponse: false,
    }),
  )

  app.notFound(c => {
    // The path is not repeated: it may hold a token.
    const message = 'nothing is served at this path; see /openapi.json'
    return sendProblem(c, new AccountsProblem('not-found', message), c.var.requestId)
  })
  app.onError((error, c) => {
    const problem = toAccountsProblem(error)
    const { requestId } = c.var
    if (problem.status >= 500 && problem.code !== 'overloaded') {
      log.error({ err: problem.cause ?? problem, request_id: requestId }, 'a request failed')
    }
    return sendProblem(c, problem, requestId)
  })
  return app
}

const info = {
  title: 'service-cli registry',
  description: 'Accounts, sessions and tokens. docs/registry.md says what stands behind it.',
  version,
}

const securitySchemes = {
  bearer: {
    type: 'http' as const,
    scheme: 'bearer',
    description: 'An access token or a service token',
  },
}
