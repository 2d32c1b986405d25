import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { getRequestListener, RequestError } from '@hono/node-server'
import { isOwnUserAgent } from '../../lib/util/version.ts'
import { ServiceError } from '../../lib/util/errors.ts'
import type { Logger } from '../../lib/util/logger.ts'
import { withoutSecrets } from '../../lib/util/secret.ts'
import type { AccessLog, RefusedRequest } from '../http/access-log.ts'
import {
  type AuthOutcome,
  type AuthPolicy,
  type AuthRefused,
  challenge,
  writeRefused,
} from '../http/authentication.ts'
import type { Cors } from '../http/cors.ts'
import { OpenAnswers } from '../http/open-answers.ts'
import { checkRequest, type Guard, type Refusal, refusalError } from '../http/guards.ts'
import { retryHeaders, toProblem, writeProblem } from '../http/problem.ts'
import { createPublicRoutes, type PublicDocuments, publicProblem } from '../http/public-routes.ts'
import { refuseUpgrade } from '../http/refused-upgrade.ts'
import { parseTarget } from '../http/request-target.ts'
import type { PeerOf } from '../http/trusted-proxies.ts'
import type { Upgrades } from '../http/listen.ts'
import type { McpEndpoint } from './endpoint.ts'
import { JsonText } from './json-text.ts'
import { refusalMessage } from './refusal.ts'
import type { RequestContext } from './request-context.ts'
import { sendRefusal } from './send.ts'
import type { Limits } from '../../lib/config/limits.ts'

export interface AppParts {
  mcp: Pick<McpEndpoint, 'handle'>
  auth: AuthPolicy
  guard: Guard
  cors: Cors
  /** The server is bound to every address: a Host equal to the one reached is its own. */
  boundToAll: boolean
  peerOf: PeerOf
  /** `/host` and `/host/…`; guards itself with the host token. */
  host?: HostEndpoint
  /** `/artefacts/sha256/<hex>`. */
  download?: (req: IncomingMessage, res: ServerResponse, hex: string) => Promise<void>
  isReady: () => boolean
  /** Well-known documents, for everybody. */
  documents?: PublicDocuments | undefined
  /** Tells standby gateways who is active. Not logged: each of them asks twice a second. */
  activeGateway?: { readonly path: string; readonly handle: RequestListener }
  onRefused: (refused: RefusedRequest) => void
  limits: Pick<Limits, 'refusedBodyDrainMs'>
  log: Logger
  accessLog: AccessLog
}

/** What the application talks to. */
export interface HostEndpoint {
  handle(req: IncomingMessage, res: ServerResponse, path: string): Promise<void>
  /** Is this upgrade one of its own? */
  wantsUpgrade(req: IncomingMessage): boolean
  upgrade(req: IncomingMessage, socket: Socket, head: Buffer): void
  /** Tells the application that the server stops, and lets it go. */
  close(): void
}

const artefactPath = '/artefacts/sha256/'
const maxLoggedText = 200

/**
 * One request from first byte to last: guards, authentication, then the handler of its path. `/mcp` and
 * `/artefacts` are answered on the Node response itself, the rest goes through Hono.
 */
export function createListener(parts: AppParts): RequestListener {
  const { refusedBodyDrainMs: drainMs } = parts.limits
  const publicRoutes = getRequestListener(createPublicRoutes(parts).fetch, {
    // A program that embeds the library keeps its own Request and Response.
    overrideGlobalObjects: false,
    errorHandler: error =>
      error instanceof RequestError
        ? publicProblem(400, 'body-invalid', 'the request target is malformed')
        : publicProblem(500, 'internal', 'the request failed'),
  })

  const { auth } = parts
  const open = new OpenAnswers()
  auth.onRevoked?.(principal => open.cut(principal))

  function route(req: IncomingMessage, res: ServerResponse, notes: Notes): void | Promise<void> {
    const target = parseTarget(req.url ?? '')
    const path = (notes.path = target?.path ?? '')
    const isHotPath = path === '/mcp' || path.startsWith(artefactPath)
    if (isHotPath) parts.cors.vary(res)
    const refusal = checkRequest(req, target, parts)
    if (refusal !== null) return refuse(req, res, notes, refusal)
    if (path === '*') throw new ServiceError('route_not_found', 'nothing is served at *')
    const isHost = path === '/host' || path.startsWith('/host/')
    if (isHost && parts.host !== undefined) return parts.host.handle(req, res, path)
    if (path === parts.activeGateway?.path) {
      notes.isLogged = false
      return parts.activeGateway.handle(req, res)
    }

    if (req.headers.origin !== undefined) {
      parts.cors.apply(req, res)
      if (parts.cors.preflight(req, res)) return
    }
    if (!isHotPath) return publicRoutes(req, res)

    const outcome = auth.authenticate({ headers: req.headers, peer: notes.peer })
    return outcome instanceof Promise
      ? outcome.then(settled => serve(req, res, notes, settled))
      : serve(req, res, notes, outcome)
  }

  function serve(
    req: IncomingMessage,
    res: ServerResponse,
    notes: Notes,
    outcome: AuthOutcome,
  ): void | Promise<void> {
    if (!outcome.ok) return refuseCaller(res, notes, outcome)
    const { principal, mayWrite = true, expiresAtMs } = outcome
    notes.principal = principal
    notes.mayWrite = mayWrite
    if (auth.onRevoked !== undefined || expiresAtMs !== undefined) {
      // A client that left while it was authenticated closes nothing any more.
      if (!res.destroyed) notes.over = open.add(principal, expiresAtMs, res)
    }
    const { path } = notes
    if (path === '/mcp') return parts.mcp.handle(req, res, notes)
    if (parts.download === undefined) {
      throw new ServiceError('route_not_found', 'artefacts are switched off on this server')
    }
    return parts.download(req, res, path.slice(artefactPath.length))
  }

  function refuse(
    req: IncomingMessage,
    res: ServerResponse,
    { path, peer }: Notes,
    refusal: Refusal,
  ): void | Promise<void> {
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
    { peer }: Notes,
    outcome: AuthRefused,
    principal?: string,
  ): void | Promise<void> {
    const { status, error = 'invalid_request', description, retryAfterSeconds } = outcome
    // With 503 nobody was found wanting, and no other token would do.
    const isRefusal = status !== 503
    const who = { peer, ...(principal !== undefined && { principal }) }
    if (isRefusal) parts.onRefused({ status, reason: reasonOf(outcome), ...who })
    const body = JsonText.of({ error, error_description: description })
    const headers = {
      ...(isRefusal && { 'WWW-Authenticate': challenge(outcome) }),
      ...(retryAfterSeconds !== undefined && { 'Retry-After': String(retryAfterSeconds) }),
    }
    return sendRefusal(res, status, body, headers, drainMs)
  }

  function failed(res: ServerResponse, notes: Notes, error: unknown): void {
    const problem = toProblem(error)
    if (isWriteRefusal(error) && !res.headersSent) {
      void refuseCaller(res, notes, auth.refuseWrite?.() ?? writeRefused(), notes.principal)
      return
    }
    if (problem.status >= 500 && problem.status !== 503)
      parts.log.error({ err: error, path: notes.path }, 'a request failed')
    if (res.destroyed) return
    // Half an answer is out: only cutting the connection tells the client that it is not whole.
    if (res.headersSent) res.destroy()
    else if (notes.path === '/mcp') {
      const answer = refusalMessage(res.req.headers, problem.status, problem.detail)
      void sendRefusal(res, problem.status, answer, retryHeaders(problem.status), drainMs)
    } else writeProblem(res, error, {}, drainMs)
  }

  return (req, res) => {
    const startedMs = performance.now()
    // Once the connection is closed nobody can tell any more.
    const notes = new Notes(parts.peerOf(req))
    res.on('close', () => {
      notes.over?.()
      if (!notes.isLogged) return
      parts.accessLog({
        method: req.method ?? '',
        path: shortened(notes.path),
        rpc: notes.rpc === undefined ? undefined : shortened(notes.rpc),
        uri: typeof notes.uri === 'string' ? shortened(withoutSecrets(notes.uri)) : undefined,
        // Cut before any answer: the status that Node has ready was never sent.
        status: res.headersSent ? res.statusCode : null,
        durationMs: Math.round((performance.now() - startedMs) * 100) / 100,
        principal: notes.principal,
        peer: notes.peer,
        ...(isOwnUserAgent(req.headers['user-agent']) && { own: true }),
      })
    })
    try {
      route(req, res, notes)?.catch((error: unknown) => failed(res, notes, error))
    } catch (error) {
      failed(res, notes, error)
    }
  }
}

/** Takes requests that leave HTTP for the host link; they pass the guards that all requests pass. */
export function createUpgrades({
  guard,
  boundToAll,
  peerOf,
  host,
  onRefused,
}: Pick<AppParts, 'guard' | 'boundToAll' | 'peerOf' | 'onRefused'> & {
  host: HostEndpoint
}): Upgrades {
  return {
    wants: req => host.wantsUpgrade(req),
    handle(req, socket, head) {
      const target = parseTarget(req.url ?? '')
      const refusal = checkRequest(req, target, { guard, boundToAll })
      if (refusal === null) return host.upgrade(req, socket, head)
      const { status, reason } = refusal
      if (status === 403) onRefused({ status, reason, peer: peerOf(req) })
      refuseUpgrade(socket, toProblem(refusalError(refusal)))
    },
  }
}

class Notes implements RequestContext {
  isLogged = true
  /** Without the query; empty until it is known. */
  path = ''
  principal = 'anonymous'
  mayWrite = true
  /** To be called when nothing is answered any more. */
  over: (() => void) | undefined = undefined
  rpc: string | undefined = undefined
  uri: unknown = undefined
  readonly peer: string

  constructor(peer: string) {
    this.peer = peer
  }
}

/** Nobody fills the log with one request. */
function shortened(text: string): string {
  return text.length > maxLoggedText ? `${text.slice(0, maxLoggedText)}…` : text
}

function isWriteRefusal(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'scope_insufficient'
}

function reasonOf({ status, error }: AuthRefused): string {
  return status === 429 ? 'too_many_failures' : (error ?? 'no_credentials')
}
