import { getRequestListener, type HttpBindings } from '@hono/node-server'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import {
  type Context,
  type ErrorHandler,
  Hono,
  type MiddlewareHandler,
  type NotFoundHandler,
} from 'hono'
import { cors } from 'hono/cors'
import { once } from 'node:events'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { ServiceError } from '../../lib/util/errors.ts'
import type { Logger } from '../../lib/util/logger.ts'
import { type AccessLog, logWhenClosed, shortened } from './access-log.ts'
import { type AuthPolicy, openPolicy } from './authentication.ts'
import { Callers } from './callers.ts'
import { Guard, normaliseOrigin, pathOf, type Reach, RequestRefused } from './guard.ts'
import { type Metrics, metricsPath } from './metrics.ts'
import {
  endRefused,
  makeProblem,
  type Problem,
  retryHeaders,
  toProblem,
  writeProblem,
} from './problem.ts'
import type { RefusedRequest } from './refusal-log.ts'
import { RequestContext } from './request-context.ts'
import { createPeerOf, isLocalRequest } from './trusted-proxies.ts'

export interface AppEnv {
  Bindings: HttpBindings
  Variables: { call: RequestContext }
}

/** Answers on the Node response. What it throws is answered for it. */
export type NodeHandler = (
  req: IncomingMessage,
  res: ServerResponse,
  context: RequestContext,
) => void | Promise<void>

/** What answers `/mcp`. */
export interface McpRoute {
  handle: NodeHandler
  /** The JSON text of an answer to a request of which no message was read. */
  refusal(headers: IncomingMessage['headers'], status: number, message: string): string
}

export interface AppParts {
  /** Null: requests come over a link that is authenticated as a whole. */
  reach: Reach | null
  /** Decides on the callers of `/mcp` and of `guarded`. Default: everyone. */
  auth?: AuthPolicy
  mcp?: McpRoute
  /** Routes that check their callers themselves, by pattern; CORS opens none of them. */
  own?: Readonly<Record<string, NodeHandler>>
  /** Routes for callers that are let in, by pattern. */
  guarded?: Readonly<Record<string, NodeHandler>>
  /** Served to this machine, and to holders of a key of the whole server; absent: 404. */
  metrics?: Metrics
  /** All other routes, each for everyone. */
  routes: Hono<any>
  /** Default: throws `route_not_found`. */
  notFound?: NotFoundHandler<AppEnv>
  /** Answers what a route throws. Default: with a problem document. */
  onError?: ErrorHandler<AppEnv>
  /** Told of every 401, 403 and 429. */
  onRefused: (refused: RefusedRequest) => void
  log: Logger
  accessLog: AccessLog
}

/** The routes of a server: access log, guard and CORS for each of them, then its callers. */
export function createApp(parts: AppParts): Hono<AppEnv> {
  const { reach, auth = openPolicy, mcp, own = {}, guarded = {}, metrics } = parts
  const { onRefused, log } = parts
  const { allowedOrigins = [], trustedProxies = [] } = reach ?? {}
  const guard = reach && new Guard(reach)
  const allowOrigins = createCors(allowedOrigins)
  const peerOf = reach === null ? () => 'joined-gateway' : createPeerOf(trustedProxies)
  const callers = new Callers(auth, onRefused)
  const app = new Hono<AppEnv>()

  /** Begins a request: in its turn on the connection, logged, and let in by the guard. */
  function enter(c: Context<AppEnv>, context: RequestContext): void | Promise<void> {
    const { incoming, outgoing } = c.env
    c.set('call', context)
    logWhenClosed(parts.accessLog, incoming, outgoing, context)
    if (outgoing.socket !== null) return check(c.env)
    // A client may pipeline many requests and read no answer: only one of a connection is worked on.
    // Node assigns the socket to its answer, and then emits 'socket'.
    return once(outgoing, 'socket').then(() => check(c.env))
  }

  function check({ incoming, outgoing }: HttpBindings): void {
    if (allowedOrigins.length > 0) outgoing.setHeader('Vary', 'Origin')
    const refused = guard?.check(incoming)
    if (refused === null || refused === undefined) return
    // Where the message ends may be unclear: nothing that follows it is read.
    outgoing.setHeader('Connection', 'close')
    throw refused
  }

  // Once the connection is closed the address is unknown.
  const contextOf = ({ incoming }: HttpBindings) =>
    new RequestContext(peerOf(incoming), pathOf(incoming))

  /**
   * Never rejects. Guard and caller are plain calls here, and awaited only where they take time: most
   * requests are reads of a few microseconds.
   */
  async function serveMcp(c: Context<AppEnv>, route: McpRoute): Promise<Response> {
    const { incoming, outgoing } = c.env
    const context = contextOf(c.env)
    try {
      const entering = enter(c, context)
      if (entering !== undefined) await entering
      const preflight = allowOrigins && (await allowOrigins(c, async () => {}))
      if (preflight instanceof Response) return preflight
      const isAdmitted = callers.admit(incoming, outgoing, context)
      if (isAdmitted === true || (await isAdmitted)) {
        await route.handle(incoming, outgoing, context)
      }
    } catch (error) {
      failed(error, outgoing, context, ({ status, detail }) => {
        const headers = { 'Content-Type': 'application/json', ...retryHeaders(status) }
        endRefused(outgoing, status, headers, route.refusal(incoming.headers, status, detail))
      })
    }
    return RESPONSE_ALREADY_SENT
  }

  /** Records what a handler threw, and answers with `write` unless an answer has begun. */
  function failed(
    error: unknown,
    res: ServerResponse,
    context: RequestContext,
    write: (problem: Problem) => void,
  ): void {
    const problem = toProblem(error)
    const { status } = problem
    if (status >= 500 && status !== 503)
      log.error({ err: error, path: context.path }, 'a request failed')
    if (error instanceof RequestRefused && status === 403) {
      onRefused({ status, reason: error.reason, peer: context.peer })
    }
    // Half an answer is out: only cutting the connection tells the client that it is not whole.
    if (res.headersSent || res.destroyed) res.destroy()
    else if (isWriteRefusal(error)) callers.refuseWrite(res, context)
    else write(problem)
  }

  const answered =
    (handle: NodeHandler) =>
    async ({ env, var: { call } }: Context<AppEnv>): Promise<Response> => {
      await handle(env.incoming, env.outgoing, call)
      return RESPONSE_ALREADY_SENT
    }
  const requireCaller: MiddlewareHandler<AppEnv> = async ({ env, var: { call } }, next) => {
    if (!(await callers.admit(env.incoming, env.outgoing, call))) return RESPONSE_ALREADY_SENT
    await next()
  }

  app.use(async (c, next) => {
    await enter(c, contextOf(c.env))
    await next()
  })
  for (const [pattern, handle] of Object.entries(own)) app.all(pattern, answered(handle))
  if (allowOrigins !== undefined) app.use(allowOrigins)
  for (const [pattern, handle] of Object.entries(guarded)) {
    app.all(pattern, requireCaller, answered(handle))
  }
  if (metrics !== undefined) {
    const requireKey: MiddlewareHandler<AppEnv> = (c, next) =>
      isLocalRequest(c.env.incoming) ? next() : requireCaller(c, next)
    app.get(metricsPath, requireKey, c => {
      if (c.var.call.viewer === undefined) return metrics.send(c)
      throw new ServiceError('route_not_found', 'metrics are for holders of the key of the server')
    })
  }
  app.route('/', parts.routes)
  app.notFound(parts.notFound ?? throwNotFound)
  app.onError(
    parts.onError ??
      ((error, { env: { outgoing }, var: { call } }) => {
        failed(error, outgoing, call, () => writeProblem(outgoing, error))
        return RESPONSE_ALREADY_SENT
      }),
  )
  if (mcp === undefined) return app
  // Middleware beside the one handler of `/mcp` would cost each of its calls a tenth: the other
  // routes are an app of their own.
  const front = new Hono<AppEnv>()
  for (const path of ['/mcp', '/mcp/']) front.all(path, c => serveMcp(c, mcp))
  front.notFound(c => app.fetch(c.req.raw, c.env))
  return front
}

function throwNotFound({ req }: Context): never {
  throw new ServiceError('route_not_found', `nothing is served at ${shortened(req.path)}`)
}

/** The listener for a server of `node:http`. */
export function listenerOf(app: Hono<AppEnv>): RequestListener {
  return getRequestListener(app.fetch, {
    // The guard refuses a request without Host, with an answer that says so.
    hostname: 'localhost',
    // A program that embeds the library keeps its own Request and Response.
    overrideGlobalObjects: false,
    // Handlers read the body of a Node request themselves.
    autoCleanupIncoming: false,
    errorHandler() {
      const detail = 'the request target must be a path, and Host a name with at most a port'
      const problem = makeProblem(400, 'malformed-request', detail)
      const headers = { 'Content-Type': 'application/problem+json', Connection: 'close' }
      return new Response(JSON.stringify(problem), { status: 400, headers })
    },
  })
}

const allowMethods = ['GET', 'POST', 'PUT', 'DELETE']

const exposeHeaders = [
  'Mcp-Session-Id',
  'WWW-Authenticate',
  'ETag',
  'Content-Range',
  'Accept-Ranges',
  'Content-Disposition',
  'Retry-After',
]

const allowHeaders = [
  'Authorization',
  'Content-Type',
  'Accept',
  'Mcp-Session-Id',
  'MCP-Protocol-Version',
  'Mcp-Method',
  'Mcp-Name',
  'Last-Event-ID',
  'Range',
  'If-Range',
  'If-None-Match',
]

/**
 * Cross-origin access for the pages named by `--allowed-origin`. The headers are set on the Node
 * response as well: those of Hono are lost where a handler answers on that.
 */
function createCors(allowedOrigins: readonly string[]): MiddlewareHandler<AppEnv> | undefined {
  if (allowedOrigins.length === 0) return undefined
  const origin = allowedOrigins.map(normaliseOrigin)
  const library = cors({ origin, allowMethods, allowHeaders, exposeHeaders, maxAge: 600 })
  return (c, next) =>
    library(c, async () => {
      for (const [name, value] of c.res.headers) c.env.outgoing.setHeader(name, value)
      await next()
    })
}

function isWriteRefusal(error: unknown): boolean {
  if (!(error instanceof ServiceError) || error.code !== 'scope_insufficient') return false
  return error.data?.['scheme'] === undefined
}
