import type { IncomingMessage, ServerResponse } from 'node:http'
import type { HostLimits } from '../host/limits.ts'
import { ServiceError } from '../../lib/util/errors.ts'
import { MemberReader } from '../../lib/host-link/member-reader.ts'
import type { Clock } from '../../lib/util/time.ts'
import type { FailureLimit } from '../auth/failure-limit.ts'
import { checkJsonMediaType, type Refusal } from '../host/guards.ts'
import { anonymous, type AuthPolicy, type AuthRefused, challenge } from '../http/authentication.ts'
import { hostName } from '../http/guard.ts'
import { accepted, answerJson, readJson } from '../host/json-post.ts'
import { checkPageHeader, cookiesNamed } from './request-checks.ts'
import { type Opening, type PageSessions, sessionMs, tokenMs } from './sessions.ts'

export const sessionPath = '/page/session'
export const tokenPath = '/page/session/token'
const maxLoginBytes = 1024

interface SessionRouteParts {
  readonly sessions: PageSessions
  /** Checks the key of a login; null: keys are refused. */
  readonly keys: AuthPolicy | null
  readonly failures: FailureLimit
  readonly limits: HostLimits
  readonly clock: Clock
  readonly isHttps: (req: IncomingMessage) => boolean
}

/** Log in, log out, and exchange the cookie for a token. Cookies count here and nowhere else. */
export class SessionRoutes {
  readonly #parts: SessionRouteParts

  constructor(parts: SessionRouteParts) {
    this.#parts = parts
  }

  /** Answers, or returns the refusal. */
  async handle(
    req: IncomingMessage,
    res: ServerResponse,
    path: string,
    peer: string,
  ): Promise<Refusal | null> {
    const refusal = checkPageHeader(req.headers)
    if (refusal !== null) return refusal
    if (path === tokenPath) return this.#createToken(req, res)
    return req.method === 'DELETE' ? this.#logOut(req, res) : this.#logIn(req, res, peer)
  }

  async #logIn(req: IncomingMessage, res: ServerResponse, peer: string): Promise<Refusal | null> {
    const isKey = req.headers.authorization !== undefined
    const opening = isKey ? await this.#byKey(req, peer) : await this.#byCode(req, peer)
    if ('error' in opening) return opening
    const { sessions, clock } = this.#parts
    const { expiresAtMs = Infinity } = opening
    const seconds = Math.floor(Math.min(sessionMs, expiresAtMs - clock.now()) / 1000)
    this.#setCookie(req, res, sessions.open(opening), seconds)
    return null
  }

  async #byCode(req: IncomingMessage, peer: string): Promise<Opening | Refusal> {
    const wrongType = checkJsonMediaType(req.headers['content-type'])
    if (wrongType !== null) return wrongType
    const { sessions, failures, limits } = this.#parts
    const body = await readJson(req, { ...limits, maxMessageBytes: maxLoginBytes })
    const reader = new MemberReader(body, '')
    const code = accepted(reader.finish(reader.required('code', reader.text('code'), '')))
    if (sessions.redeem(code)) return { mayWrite: true, keyHolder: null }
    return refusedLogin(await failures.refused(peer, codeInvalid))
  }

  async #byKey(req: IncomingMessage, peer: string): Promise<Opening | Refusal> {
    const { keys, failures } = this.#parts
    if (keys === null) return refusedLogin(await failures.refused(peer, keysRefused))
    // A policy counts its own failures.
    const outcome = await keys.authenticate({ headers: req.headers, peer })
    if (!outcome.ok) return refusedLogin(outcome)
    const { principal, mayWrite = true, expiresAtMs, viewer, watch } = outcome
    // The policy looked at no key.
    if (principal === anonymous) return refusedLogin(await failures.refused(peer, keyless))
    return { mayWrite, keyHolder: principal, expiresAtMs, viewer, watch }
  }

  #createToken(req: IncomingMessage, res: ServerResponse): Refusal | null {
    const { sessions } = this.#parts
    for (const cookie of this.#cookies(req)) {
      const token = sessions.createToken(cookie)
      if (token === null) continue
      const mayNote = sessions.ofToken(token)?.mayNote === true
      answerJson(res, 200, { token, expires_in: tokenMs / 1000, notes: mayNote })
      return null
    }
    const error = new ServiceError('auth_required', 'this browser is not logged in', {
      hint: 'open a link of service-cli page',
    })
    return { reason: 'session_missing', error, headers: { 'WWW-Authenticate': 'Bearer' } }
  }

  #logOut(req: IncomingMessage, res: ServerResponse): null {
    for (const cookie of this.#cookies(req)) this.#parts.sessions.end(cookie)
    this.#setCookie(req, res, '', 0)
    return null
  }

  #cookies(req: IncomingMessage): readonly string[] {
    return cookiesNamed(this.#cookieName(req), req.headers.cookie)
  }

  #setCookie(req: IncomingMessage, res: ServerResponse, value: string, seconds: number): void {
    const secure = this.#parts.isHttps(req) ? '; Secure' : ''
    const scope = `Path=${sessionPath}; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure}`
    res.writeHead(204, {
      'Cache-Control': 'no-store',
      'Set-Cookie': `${this.#cookieName(req)}=${value}; ${scope}`,
    })
    res.end()
  }

  /** Browsers send a cookie to every port of its host: each server reads its own alone. */
  #cookieName(req: IncomingMessage): string {
    const { host = '' } = req.headers
    const port = host.slice(hostName(host).length + 1)
    return `service-page-${port || (this.#parts.isHttps(req) ? '443' : '80')}`
  }
}

const codeInvalid: AuthRefused = {
  ok: false,
  status: 403,
  description: 'the login link is invalid: it works once, for five minutes',
}

const keysRefused: AuthRefused = {
  ok: false,
  status: 401,
  description: 'this server takes no keys: open a link of service-cli page',
}

const keyless: AuthRefused = {
  ...keysRefused,
  description: 'this server has no keys: none is needed to read',
}

const codes = {
  401: 'auth_refused',
  403: 'login_invalid',
  429: 'limit_reached',
  421: 'request_refused',
  503: 'overloaded',
} as const

function refusedLogin(refused: AuthRefused): Refusal {
  const { status, description, retryAfterSeconds } = refused
  const headers = {
    ...(status === 401 && { 'WWW-Authenticate': challenge(refused) }),
    ...(retryAfterSeconds !== undefined && { 'Retry-After': String(retryAfterSeconds) }),
  }
  return { reason: 'login', error: new ServiceError(codes[status], description), headers }
}
