import { randomUUID } from 'node:crypto'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { getRequestListener, RequestError } from '@hono/node-server'
import type { Logger } from '../../lib/util/logger.ts'
import { logWhenClosed, shortened } from '../http/access-log.ts'
import { createRefusalLog } from '../http/refusal-log.ts'
import { checkRequest, type Refusal } from '../http/guards.ts'
import { accepts } from '../http/media.ts'
import { type Metrics, metricsPath } from '../http/metrics.ts'
import { sendProblem } from '../http/problem.ts'
import { parseTarget, type RequestTarget } from '../http/request-target.ts'
import type { RequestChecks } from '../http/request-checks.ts'
import type { HttpLimits } from '../http/limits.ts'
import { type Call, describeCall } from './call.ts'
import {
  problemBody,
  problemHeaders,
  type ProblemSlug,
  problemStatus,
  AccountsProblem,
  toAccountsProblem,
} from './problems.ts'
import { createRouter } from './router.ts'
import type { AccountServices } from './services.ts'
import { hideTokens } from '../../lib/util/secret.ts'

interface AccountsListenerParts extends RequestChecks {
  readonly services: AccountServices
  readonly version: string
  readonly limits: Pick<HttpLimits, 'bodyTimeoutMs' | 'refusedBodyDrainMs'>
  readonly log: Logger
  /** Also told of every request, for the access log. */
  readonly metrics: Metrics
}

const slugOfRefusal: Record<Refusal['reason'], ProblemSlug> = {
  duplicate_header: 'malformed-request',
  encoding_unknown: 'malformed-request',
  target_malformed: 'malformed-request',
  host_missing: 'malformed-request',
  host_malformed: 'malformed-request',
  host_not_allowed: 'host-not-allowed',
  origin_not_allowed: 'origin-not-allowed',
}

/** Methods of the routes, for pages of allowed origins. */
export const corsMethods = 'GET, POST, PUT, DELETE'

/** Serves the requests of the accounts server: the guards, then the route. */
export function createAccountsListener(parts: AccountsListenerParts): RequestListener {
  const { services, cors, log } = parts
  const limits = { ...services.limits, ...parts.limits }
  // One entry for each peer and second: a flood must not push out what matters.
  const onRefused = createRefusalLog(services.clock, ({ status, reason, peer }) => {
    const from = { requestId: '', address: peer }
    void services.audit.record('request.refused', from, null, { status, reason })
  })

  function refuse(res: ServerResponse, call: Call, error: unknown): void {
    // The adapter could not make a request of it.
    const isMalformed = error instanceof RequestError
    const problem = isMalformed ? malformedTarget() : toAccountsProblem(error)
    const status = problemStatus[problem.slug]
    if (status >= 500 && problem.slug !== 'overloaded') {
      const err = problem.cause ?? problem
      log.error({ err, request_id: call.requestId }, 'a request failed')
    }
    if (isSuspicious(problem.slug)) {
      onRefused({ status, reason: problem.slug, peer: call.address })
    }
    const body = problemBody(problem, call.requestId)
    sendProblem(res, body, problemHeaders(problem), limits.refusedBodyDrainMs)
  }

  const router = createRouter({ services, limits, version: parts.version, refuse })
  function serve(req: IncomingMessage, res: ServerResponse, call: Call): Promise<void> {
    const serveRequest = getRequestListener(
      request => router.fetch(request, { incoming: req, outgoing: res, call }),
      {
        // Bodies are read, or thrown away, by us alone.
        autoCleanupIncoming: false,
        overrideGlobalObjects: false,
        errorHandler: error => refuse(res, call, error),
      },
    )
    return serveRequest(req, res)
  }

  function check(req: IncomingMessage, target: RequestTarget | null): void {
    if ((req.url ?? '').length > limits.maxTargetChars) {
      const message = `path and query together have more than ${limits.maxTargetChars} characters`
      throw new AccountsProblem('uri-too-long', message)
    }
    const refusal = checkRequest(req, target, parts.guard)
    if (refusal !== null) {
      throw new AccountsProblem(slugOfRefusal[refusal.reason], refusal.message)
    }
    const query = target?.url.split('?', 2)[1] ?? ''
    if (query.split('&').length > limits.maxQueryMembers) {
      const message = `the query has more than ${limits.maxQueryMembers} members`
      throw new AccountsProblem('malformed-request', message)
    }
    const isOfMetrics = target?.path === metricsPath
    if (!isOfMetrics && !accepts(req.headers.accept, 'application/json')) {
      throw new AccountsProblem('not-acceptable', 'the answer is application/json')
    }
    if (target?.path === '*') throw new AccountsProblem('not-found', 'nothing is served at *')
  }

  return (req, res) => {
    const call = describeCall(req, randomUUID(), parts.peerOf)
    const target = parseTarget(req.url ?? '')
    const path = loggedPath(target?.path ?? '')
    logWhenClosed(parts.metrics, res, () => ({
      path,
      rpc: undefined,
      principal: call.principal,
      peer: call.address,
      requestId: call.requestId,
    }))
    try {
      cors.vary(res)
      check(req, target)
      if (cors.admit(req, res)) return
      // Counts of the whole server are for its machine.
      if (path === metricsPath && parts.metrics.answers(req)) return parts.metrics.send(res)
      serve(req, res, call).catch((error: unknown) => refuse(res, call, error))
    } catch (error) {
      refuse(res, call, error)
    }
  }
}

function malformedTarget(): AccountsProblem {
  return new AccountsProblem('malformed-request', 'the request target is malformed')
}

/** A refusal that honest clients do not cause by accident, and that has no audit entry yet. */
function isSuspicious(slug: ProblemSlug): boolean {
  return ['host-not-allowed', 'origin-not-allowed', 'token-invalid', 'rate-limited'].includes(slug)
}

/** A path as the log may show it. */
export function loggedPath(path: string): string {
  return shortened(hideTokens(path))
}
