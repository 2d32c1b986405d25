import { getRequestListener, type HttpBindings } from '@hono/node-server'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { type Context, type ErrorHandler, Hono } from 'hono'
import { cors } from 'hono/cors'
import { once } from 'node:events'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { ServiceError } from '../../lib/util/errors.ts'
import type { Logger } from '../../lib/util/logger.ts'
import { maxTimerMs } from '../../lib/util/time.ts'
import { type AccessLog, logWhenClosed } from './access-log.ts'
import {
  type AuthOutcome,
  type AuthPolicy,
  type AuthRefused,
  challenge,
  isWriteRefusal,
  openPolicy,
  writeRefused,
} from './authentication.ts'
import { Guard, normaliseOrigin, pathOf, type Reach, RequestRefused } from './guard.ts'
import { type Metrics, metricsPath } from './metrics.ts'
import { endRefused, makeProblem, type Problem, toProblem, writeProblem } from './problem.ts'
import type { RefusedRequest } from './refusal-log.ts'
import { RequestContext } from './request-context.ts'
import { createPeerOf, isLocalRequest } from './trusted-proxies.ts'

export interface AppEnv {
  /** `call` is there once the request is served. */
  Bindings: HttpBindings & { call: RequestContext }
}

/** Answers on the Node response. What it throws is answered for it. */
export type NodeHandler = (
  req: IncomingMessage,
  res: ServerResponse,
  context: RequestContext,
) => void | Promise<void>

export interface AppParts {
  /** Null: requests come over a link that is authenticated as a whole. */
  reach: Reach | null
  /** Decides on the callers of `/mcp` and of `guarded`. Default: everyone. */
  auth?: AuthPolicy
  /** `refuse` answers requests of which no message was read. */
  mcp?: { handle: NodeHandler; refuse: (res: ServerResponse, problem: Problem) => void }
  /** Routes that check their callers themselves, by pattern; `--allowed-origin` opens none of them. */
  own?: Readonly<Record<string, NodeHandler>>
  /** Routes for callers that are let in, by pattern. */
  guarded?: Readonly<Record<string, NodeHandler>>
  /** Served to this machine, and to holders of a key of the whole server; absent: 404. */
  metrics?: Metrics
  /** All other routes, each for everyone. */
  routes: Hono<any>
  /** Answers what a route throws. Default: with a problem document. */
  onError?: ErrorHandler<AppEnv>
  /** Told of every 401, 403 and 429. */
  onRefused: (refused: RefusedRequest) => void
  log: Logger
  accessLog: AccessLog
}

/** Whom a route answers. `own` decides itself, and gets no CORS headers. */
type Access = 'own' | 'everyone' | 'callers'

/** The routes of a server: access log, guard and CORS for each of them, then its callers. */
export function createApp(parts: AppParts): Hono<AppEnv> {
  const { reach, auth = openPolicy, mcp, own = {}, guarded = {}, metrics, routes } = parts
  const { onRefused, onError, log } = parts
  const { allowedOrigins = [], trustedProxies = [] } = reach ?? {}
  const guard = reach && new Guard(reach)
  const origin = allowedOrigins.map(normaliseOrigin)
  const allowOrigins = origin.length > 0 ? cors({ origin, exposeHeaders, maxAge: 600 }) : null
  const peerOf = reach === null ? () => 'joined-gateway' : createPeerOf(trustedProxies)
  const callers = new Callers(auth, onRefused)

  /**
   * Never rejects. Guard and caller are plain calls, and awaited only where they take time: most
   * requests are reads of a few microseconds, and middleware would cost each of them a tenth.
   */
  async function serve(
    c: Context<AppEnv>,
    access: Access,
    answer: (context: RequestContext) => void | Response | Promise<void | Response>,
    refuse = writeProblem,
  ): Promise<Response> {
    const { incoming, outgoing } = c.env
    // Once the connection is closed the address is unknown.
    const context = new RequestContext(peerOf(incoming), pathOf(incoming))
    c.env.call = context
    logWhenClosed(parts.accessLog, incoming, outgoing, context)
    try {
      // A client may pipeline many requests and read no answer: only one of a connection is worked
      // on. Node assigns the socket to its answer, and then emits 'socket'.
      if (outgoing.socket === null) await once(outgoing, 'socket')
      if (allowOrigins !== null) outgoing.setHeader('Vary', 'Origin')
      const refused = guard?.check(incoming) ?? null
      if (refused !== null) {
        // Where the message ends may be unclear: nothing that follows it is read.
        outgoing.setHeader('Connection', 'close')
        throw refused
      }
      if (allowOrigins !== null && access !== 'own') {
        const preflight = await allowOrigins(c, async () => {})
        if (preflight instanceof Response) return preflight
        // Those of Hono are lost where a handler answers on the Node response.
        for (const [name, value] of c.res.headers) outgoing.setHeader(name, value)
      }
      const isAdmitted = access !== 'callers' || callers.admit(incoming, outgoing, context)
      if (isAdmitted === true || (await isAdmitted)) {
        return (await answer(context)) ?? RESPONSE_ALREADY_SENT
      }
    } catch (error) {
      if (onError !== undefined && error instanceof Error) return onError(error, c)
      const problem = toProblem(error)
      const { status, code } = problem
      // A server that is overloaded or stops says 503, too: that is no news.
      if (status >= 500 && (status !== 503 || code === 'storage-unavailable')) {
        log.error({ err: error, path: context.path }, 'a request failed')
      }
      if (error instanceof RequestRefused && status === 403) {
        onRefused({ status, reason: error.reason, peer: context.peer })
      }
      if (isWriteRefusal(error)) callers.refuseWrite(outgoing, context)
      else refuse(outgoing, problem)
    }
    return RESPONSE_ALREADY_SENT
  }

  const app = new Hono<AppEnv>()
  const add = (pattern: string, access: Access, handle: NodeHandler, refuse = writeProblem) => {
    app.all(pattern, c => {
      const { incoming, outgoing } = c.env
      return serve(c, access, context => handle(incoming, outgoing, context), refuse)
    })
  }
  if (mcp !== undefined) {
    for (const path of ['/mcp', '/mcp/']) add(path, 'callers', mcp.handle, mcp.refuse)
  }
  for (const [pattern, handle] of Object.entries(own)) add(pattern, 'own', handle)
  for (const [pattern, handle] of Object.entries(guarded)) add(pattern, 'callers', handle)
  if (metrics !== undefined) {
    app.get(metricsPath, c =>
      serve(c, isLocalRequest(c.env.incoming) ? 'everyone' : 'callers', ({ viewer }) => {
        if (viewer === undefined) return metrics.send(c)
        const message = 'metrics are for holders of the key of the server'
        throw new ServiceError('route_not_found', message)
      }),
    )
  }
  routes.onError(error => {
    throw error
  })
  app.notFound(c => serve(c, 'everyone', () => routes.fetch(c.req.raw, c.env)))
  return app
}

/** Lets callers in by a policy, and cuts what is open to a caller whose access ends. */
class Callers {
  readonly #policy: AuthPolicy
  readonly #onRefused: (refused: RefusedRequest) => void

  constructor(policy: AuthPolicy, onRefused: (refused: RefusedRequest) => void) {
    this.#policy = policy
    this.#onRefused = onRefused
  }

  /** Whether the caller is let in; otherwise the request is answered. */
  admit(
    req: IncomingMessage,
    res: ServerResponse,
    context: RequestContext,
  ): boolean | Promise<boolean> {
    const { method, headers } = req
    const outcome = this.#policy.authenticate({ method, headers, peer: context.peer })
    if (!(outcome instanceof Promise)) return this.#settle(res, context, outcome)
    return outcome.then(settled => this.#settle(res, context, settled))
  }

  #settle(res: ServerResponse, context: RequestContext, outcome: AuthOutcome): boolean {
    if (!outcome.ok) {
      this.#refuse(res, context, outcome)
      return false
    }
    const { principal, mayWrite = true, mayAnswer = mayWrite, expiresAtMs, viewer, watch } = outcome
    Object.assign(context, { principal, mayWrite, mayAnswer, viewer })
    // A client that left while it was authenticated closes nothing any more.
    if (res.destroyed) return false
    const { onClose } = context
    // Cut, not ended: the client comes back and is told why it is not let in any more. Pushed one by
    // one: a single closure over both kept whole requests alive until V8's next full collection, and
    // cost a third of the time of a read.
    if (watch !== undefined) onClose.push(watch(() => void res.destroy()))
    if (expiresAtMs !== undefined) {
      const delayMs = Math.min(expiresAtMs - Date.now(), maxTimerMs)
      const timer = setTimeout(() => res.destroy(), delayMs)
      onClose.push(() => clearTimeout(timer))
    }
    return true
  }

  /** Refuses a request that would change something, of a caller who may only read. */
  refuseWrite(res: ServerResponse, context: RequestContext): void {
    this.#refuse(res, context, this.#policy.refuseWrite?.() ?? writeRefused)
  }

  #refuse(res: ServerResponse, context: RequestContext, refused: AuthRefused): void {
    const { path, peer, principal } = context
    const { status, error = 'invalid_request', description, retryAfterSeconds } = refused
    const headers: Record<string, string> = { 'Content-Type': 'application/json' }
    // The others refuse no caller: another token would not help.
    if (status !== 503 && status !== 421) {
      // A client asks so whether it needs a key, as `mcp-config` does.
      const isQuestion = refused.error === undefined && res.req.method === 'GET' && path === '/mcp'
      const reason = status === 429 ? 'too_many_failures' : (refused.error ?? 'no_credentials')
      const caller = principal === '' ? undefined : principal
      if (!isQuestion) this.#onRefused({ status, reason, peer, principal: caller })
      headers['WWW-Authenticate'] = challenge(refused)
    }
    if (retryAfterSeconds !== undefined) headers['Retry-After'] = String(retryAfterSeconds)
    const text = JSON.stringify({ error, error_description: description })
    endRefused(res, status, headers, text)
  }
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
      const body = JSON.stringify(makeProblem(400, 'malformed-request', detail))
      const headers = { 'Content-Type': 'application/problem+json', Connection: 'close' }
      return new Response(body, { status: 400, headers })
    },
  })
}

/** What the pages named by `--allowed-origin` may read; they may send any header. */
const exposeHeaders = [
  'Mcp-Session-Id',
  'WWW-Authenticate',
  'ETag',
  'Content-Range',
  'Accept-Ranges',
  'Content-Disposition',
  'Retry-After',
]
