import type { McpLimits } from './limits.ts'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { getRequestListener, RequestError } from '@hono/node-server'
import { ServiceError } from '../../lib/util/errors.ts'
import type { Logger } from '../../lib/util/logger.ts'
import { withoutSecrets } from '../../lib/util/secret.ts'
import { type AccessLog, logWhenClosed, shortened } from '../http/access-log.ts'
import type { RefusedRequest } from '../http/refusal-log.ts'
import type { ArtefactDownload } from '../http/artefact-download.ts'
import {
  type AuthOutcome,
  type AuthPolicy,
  type AuthRefused,
  challenge,
  writeRefused,
} from '../http/authentication.ts'
import { type Metrics, metricsPath } from '../http/metrics.ts'
import { OpenAnswers } from '../http/open-answers.ts'
import { checkRequest, type Refusal, refusalError } from '../http/guards.ts'
import { retryHeaders, toProblem, writeProblem } from '../http/problem.ts'
import {
  createPublicRoutes,
  type PublicDocuments,
  publicProblem,
  type ReadyFacts,
} from '../http/public-routes.ts'
import { parseTarget } from '../http/request-target.ts'
import type { RequestChecks } from '../http/request-checks.ts'
import type { Handlers } from '../http/listen.ts'
import type { Page } from '../page/page.ts'
import type { McpEndpoint } from './endpoint.ts'
import { JsonText } from './json-text.ts'
import { refusalMessage } from './refusal.ts'
import { RequestContext } from './request-context.ts'
import { createUpgrades, type HostEndpoint, type JoinEndpoint } from './upgrades.ts'
import { sendRefusal } from './send.ts'

export interface AppParts extends RequestChecks {
  mcp: Pick<McpEndpoint, 'handle'>
  auth: AuthPolicy
  /** `/host` and `/host/…`; guards itself with the host token. */
  host?: HostEndpoint
  /** `/join`; guards itself with tokens. */
  joins?: JoinEndpoint
  /** `/` and `/page/…`; its tokens are accepted beside what `auth` accepts. Absent: 404. */
  page?: Page
  /** `/artefacts/sha256/<hex>`; absent: 404. */
  download?: ArtefactDownload
  /** `/instances/…`, of which it is given what follows; absent: 404. */
  instances?: InstanceDownload
  isReady: () => boolean
  readyFacts?: ReadyFacts
  /** Well-known documents, without authentication. */
  documents?: PublicDocuments
  /** What was counted, for this machine and for holders of a key; absent: 404. */
  metrics?: Metrics
  /** Tells standby gateways who is active. Not logged: each of them asks twice a second. */
  activeGateway?: { readonly path: string; readonly handle: RequestListener }
  onRefused: (refused: RefusedRequest) => void
  limits: Pick<McpLimits, 'refusedBodyDrainMs'>
  log: Logger
  accessLog: AccessLog
}

/** Answers a download of an instance, as far as the caller may have it. */
export type InstanceDownload = (
  ...asked: [...Parameters<ArtefactDownload>, context: RequestContext]
) => Promise<void>

const artefactPath = '/artefacts/sha256/'
const instancesPath = '/instances/'

/** What answers the requests of an MCP server. */
export function createHandlers(parts: AppParts): Handlers {
  return { listener: createListener(parts), upgrades: createUpgrades(parts) }
}

/**
 * Serves one request: guards, authentication, then the handler of its path. `/mcp` and `/artefacts`
 * are answered on the Node response itself, the rest goes through Hono.
 */
function createListener(parts: AppParts): RequestListener {
  const { refusedBodyDrainMs: drainMs } = parts.limits
  const publicRoutes = getRequestListener(createPublicRoutes(parts).fetch, {
    // A program that embeds the library keeps its own Request and Response.
    overrideGlobalObjects: false,
    errorHandler: error =>
      error instanceof RequestError
        ? publicProblem(400, 'body-invalid', 'the request target is malformed')
        : publicProblem(500, 'internal', 'the request failed'),
  })

  const { page, page: { auth } = parts } = parts
  const open = new OpenAnswers()
  auth.onRevoked?.(principal => open.cut(principal))

  const isOfInstance = (path: string) =>
    parts.instances !== undefined && path.startsWith(instancesPath)

  function route(
    req: IncomingMessage,
    res: ServerResponse,
    context: RequestContext,
  ): void | Promise<void> {
    const target = parseTarget(req.url ?? '')
    const path = (context.path = target?.path ?? '')
    const isHotPath = path === '/mcp' || path.startsWith(artefactPath) || isOfInstance(path)
    if (isHotPath) parts.cors.vary(res)
    const refusal = checkRequest(req, target, parts.guard)
    if (refusal !== null) return refuse(req, res, context, refusal)
    if (path === '*') throw new ServiceError('route_not_found', 'nothing is served at *')
    const isHost = path === '/host' || path.startsWith('/host/')
    if (isHost && parts.host !== undefined) return parts.host.handle(req, res, path)
    if (path === parts.activeGateway?.path) {
      context.isLogged = false
      return parts.activeGateway.handle(req, res)
    }

    // No page of another origin gets in by CORS here.
    if (page?.serves(path) === true) return page.handle(req, res, path, context)

    if (parts.cors.admit(req, res)) return
    const metrics = path === metricsPath && req.method === 'GET' ? parts.metrics : undefined
    if (metrics?.answers(req)) return metrics.send(res)
    if (!isHotPath && metrics === undefined) return publicRoutes(req, res)

    const outcome = auth.authenticate({ headers: req.headers, peer: context.peer })
    return outcome instanceof Promise
      ? outcome.then(settled => serve(req, res, context, settled))
      : serve(req, res, context, outcome)
  }

  function serve(
    req: IncomingMessage,
    res: ServerResponse,
    context: RequestContext,
    outcome: AuthOutcome,
  ): void | Promise<void> {
    if (!outcome.ok) return refuseCaller(res, context, outcome)
    const { principal, mayWrite = true, mayAnswer = mayWrite, expiresAtMs } = outcome
    const { viewer, watch } = outcome
    Object.assign(context, { principal, mayWrite, mayAnswer, viewer })
    if (auth.onRevoked !== undefined || expiresAtMs !== undefined || watch !== undefined) {
      // A client that left while it was authenticated closes nothing any more.
      if (!res.destroyed) {
        // Pushed one by one: a single closure over both kept whole requests alive until V8's next full
        // collection, and cost a third of the time of a read.
        context.onClose.push(open.add(principal, expiresAtMs, res))
        if (watch !== undefined) context.onClose.push(watch(() => void res.destroy()))
      }
    }
    const { path } = context
    if (path === '/mcp') return parts.mcp.handle(req, res, context)
    if (path === metricsPath && viewer === undefined) return parts.metrics?.send(res)
    if (isOfInstance(path))
      return parts.instances?.(req, res, path.slice(instancesPath.length), context)
    if (path === metricsPath) {
      throw new ServiceError('route_not_found', 'metrics are for holders of the key of the server')
    }
    if (parts.download === undefined) {
      throw new ServiceError('route_not_found', 'artefacts are switched off on this server')
    }
    return parts.download(req, res, path.slice(artefactPath.length))
  }

  function refuse(
    req: IncomingMessage,
    res: ServerResponse,
    { path, peer }: RequestContext,
    refusal: Refusal,
  ): void {
    const { status, reason, message } = refusal
    if (status === 403) parts.onRefused({ status, reason, peer })
    if (path === '/mcp') {
      const answer = refusalMessage(req.headers, status, message)
      return sendRefusal(res, status, answer, {}, drainMs)
    }
    writeProblem(res, refusalError(refusal), {}, drainMs)
  }

  function refuseCaller(
    res: ServerResponse,
    { path, peer }: RequestContext,
    outcome: AuthRefused,
    principal?: string,
  ): void {
    const { status, error = 'invalid_request', description, retryAfterSeconds } = outcome
    // The others refuse no caller: another token would not help.
    const isRefusal = status !== 503 && status !== 421
    // A client asks so whether it needs a key, as `mcp-config` does.
    const isQuestion = outcome.error === undefined && res.req.method === 'GET' && path === '/mcp'
    if (isRefusal && !isQuestion)
      parts.onRefused({ status, reason: reasonOf(outcome), peer, principal })
    const body = JsonText.of({ error, error_description: description })
    const headers = {
      ...(isRefusal && { 'WWW-Authenticate': challenge(outcome) }),
      ...(retryAfterSeconds !== undefined && { 'Retry-After': String(retryAfterSeconds) }),
    }
    return sendRefusal(res, status, body, headers, drainMs)
  }

  function failed(res: ServerResponse, context: RequestContext, error: unknown): void {
    const problem = toProblem(error)
    if (isWriteRefusal(error) && !res.headersSent) {
      refuseCaller(res, context, auth.refuseWrite?.() ?? writeRefused(), context.principal)
      return
    }
    if (problem.status >= 500 && problem.status !== 503)
      parts.log.error({ err: error, path: context.path }, 'a request failed')
    if (res.destroyed) return
    // Half an answer is out: only cutting the connection tells the client that it is not whole.
    if (res.headersSent) res.destroy()
    else if (context.path === '/mcp') {
      const answer = refusalMessage(res.req.headers, problem.status, problem.detail)
      sendRefusal(res, problem.status, answer, retryHeaders(problem.status), drainMs)
    } else writeProblem(res, error, {}, drainMs)
  }

  return (req, res) => {
    // Once the connection is closed the address is unknown.
    const context = new RequestContext(parts.peerOf(req))
    logWhenClosed(parts, res, () => {
      for (const end of context.onClose) end()
      if (!context.isLogged) return null
      const { path, rpc, uri, principal, peer } = context
      return {
        path: shortened(path),
        rpc: rpc === undefined ? undefined : shortened(rpc),
        uri: typeof uri === 'string' ? shortened(withoutSecrets(uri)) : undefined,
        principal,
        peer,
        ...(req.headers['user-agent']?.startsWith('service-cli/') && { own: true }),
      }
    })
    try {
      route(req, res, context)?.catch((error: unknown) => failed(res, context, error))
    } catch (error) {
      failed(res, context, error)
    }
  }
}

function isWriteRefusal(error: unknown): error is ServiceError {
  if (!(error instanceof ServiceError) || error.code !== 'scope_insufficient') return false
  return error.data?.['scheme'] === undefined
}

function reasonOf({ status, error }: AuthRefused): string {
  return status === 429 ? 'too_many_failures' : (error ?? 'no_credentials')
}
