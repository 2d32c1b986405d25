import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { TLSSocket } from 'node:tls'
import type { Hono } from 'hono'
import { parse, serialize } from 'hono/utils/cookie'
import { z } from 'zod'
import { ServiceError } from '../../lib/util/errors.ts'
import { isJsonObject } from '../../lib/util/json.ts'
import type { ArtefactStore } from '../artefacts/store.ts'
import type { ServerLimits } from '../http/limits.ts'
import { answerJson, readJsonBody, writeNote } from '../host/routes.ts'
import { Uploads } from '../host/uploads.ts'
import type { AppEnv, NodeHandler } from '../http/app.ts'
import {
  anonymous,
  type AuthAccepted,
  type AuthPolicy,
  type Caller,
  writeRefused,
} from '../http/authentication.ts'
import { hostName, isSameOrigin } from '../http/guard.ts'
import { toProblem } from '../http/problem.ts'
import type { RefusedRequest } from '../http/refusal-log.ts'
import type { RequestContext } from '../http/request-context.ts'
import type { NoteWriter } from '../notes/note-posts.ts'
import { builtFolder, pageFiles } from './files.ts'
import { codeMs, type Opening, type PageSession, PageSessions } from './sessions.ts'

export interface PageParts {
  /** Decides on requests without a login of the page, and on keys that people type. */
  readonly auth: AuthPolicy
  /** False: only links let people in. Default true. */
  readonly keyLogin?: boolean
  /** Where posts go, null for what is switched off; null on a server that keeps nothing. */
  readonly writes: { notes: NoteWriter | null; store: Pick<ArtefactStore, 'put'> | null } | null
  /** Where browsers reach the server; null before it listens. */
  readonly baseUrl: () => string | null
  /** The address of a proxy in front, which may end HTTPS and leave the port out of `Host`. */
  readonly publicUrl: string | undefined
  /** Default: that of the build. */
  readonly folder?: string
  readonly onRefused: (refused: RefusedRequest) => void
  readonly limits: ServerLimits
}

/** A link that logs a browser in within so many seconds. Member names are those on the wire. */
export interface PageLogin {
  readonly url: string
  readonly expires_in: number
}

/** The author of notes, and of actions on them, where the page names none. */
const pageName = 'page'
const maxLoginBytes = 1024
const loginSchema = z.strictObject({ code: z.string().optional() })
const linkHint = 'open a link of service-cli page'

/** The live page of a server: its files, its logins, and what it writes. */
export class Page {
  /** The policy of the server, which also accepts the cookies of the page. */
  readonly auth: AuthPolicy
  readonly #parts: PageParts
  readonly #sessions = new PageSessions()

  constructor(parts: PageParts) {
    const { auth } = parts
    this.#parts = parts
    this.auth = {
      authenticate: caller => this.#acceptCookie(caller) ?? auth.authenticate(caller),
      refuseWrite: () => auth.refuseWrite?.() ?? writeRefused,
    }
  }

  /** A fresh link, valid once; null before the server listens. */
  login(): PageLogin | null {
    const base = this.#parts.baseUrl()
    if (base === null) return null
    return { url: `${base}/#login=${this.#sessions.createCode()}`, expires_in: codeMs / 1000 }
  }

  /** The files of the page. */
  get files(): Hono<AppEnv> {
    return pageFiles(this.#parts.folder ?? builtFolder)
  }

  /** What only the page may ask for, by pattern. */
  get routes(): Record<string, NodeHandler> {
    const session = this.#own(['POST', 'DELETE'], (req, res, { peer }) =>
      req.method === 'DELETE' ? this.#logOut(req, res) : this.#logIn(req, res, peer),
    )
    const { writes, limits } = this.#parts
    if (writes === null) return { '/page/session': session }
    const uploads = new Uploads(writes.store, limits)
    const note = this.#own(['POST'], (req, res, context) =>
      this.#postNote(req, res, context, writes.notes),
    )
    const upload = this.#own(['POST'], async (req, res, context) => {
      const { mayWrite } = this.#writer(req, context)
      if (!mayWrite) throw refused('the key of this login may only read', linkHint)
      answerJson(res, 201, await uploads.receive(req))
    })
    return {
      '/page/session': session,
      '/page/notes': note,
      '/page/notes/:id/:action': note,
      '/page/artefacts': upload,
    }
  }

  /** A route for the page itself. A cookie alone is not enough: browsers send it for other pages. */
  #own(methods: readonly string[], handle: NodeHandler): NodeHandler {
    return async (req, res, context) => {
      try {
        if (!methods.includes(req.method ?? '')) {
          res.setHeader('Allow', methods.join(', '))
          const detail = `this address answers ${methods.join(' and ')}`
          throw new ServiceError('method_not_allowed', detail)
        }
        if (!this.#isFromPage(req.headers) || req.headers['service-page'] !== '1') {
          throw refused('only the page of this server may do this')
        }
        await handle(req, res, context)
      } catch (error) {
        const { status, code } = toProblem(error)
        if (status === 401 || status === 403) {
          this.#parts.onRefused({ status, reason: code, peer: context.peer })
        }
        throw error
      }
    }
  }

  /**
   * Whether a browser says that the request comes from the page of this server: in `Sec-Fetch-Site`,
   * which it leaves out over plain HTTP under most names, or in `Origin`, which a GET does not have.
   */
  #isFromPage({ 'sec-fetch-site': site, origin, host = '' }: IncomingHttpHeaders): boolean {
    const { publicUrl } = this.#parts
    const isPublic = publicUrl !== undefined && origin === new URL(publicUrl).origin
    const isOwn = origin !== undefined && (isPublic || isSameOrigin(origin, host))
    return site === undefined ? isOwn : site === 'same-origin' && (isOwn || origin === undefined)
  }

  /** The session of a request; null: it has none that counts. */
  #sessionOf({ method = '', headers }: Pick<IncomingMessage, 'method' | 'headers'>) {
    const { cookie, authorization } = headers
    if (cookie === undefined || authorization !== undefined) return null
    const isRead = method === 'GET' || method === 'HEAD'
    if (!this.#isFromPage(headers) || !(isRead || headers['service-page'] === '1')) return null
    return this.#sessions.find(cookieOf(headers))
  }

  /**
   * A login reads what the key reads that it was opened with, a link reads all. It never answers
   * notes: that is for agents. Null: the request has no login, and the policy of the server decides.
   */
  #acceptCookie(caller: Caller): AuthAccepted | null {
    const session = this.#sessionOf(caller)
    if (session === null) return null
    const { principal, mayWrite, expiresAtMs, viewer } = session
    const watch = (ended: () => void) => this.#sessions.watch(session, ended)
    return { ok: true, principal, mayWrite, mayAnswer: false, expiresAtMs, viewer, watch }
  }

  /** Logs in by a code or a key; without either it only says whether the browser is logged in. */
  async #logIn(req: IncomingMessage, res: ServerResponse, peer: string): Promise<void> {
    const opening =
      req.headers.authorization === undefined
        ? await this.#byCode(req)
        : await this.#byKey(req, peer)
    if (opening !== null) {
      const { cookie, seconds } = this.#sessions.open(opening)
      this.#setCookie(req, res, cookie, seconds)
    }
    const session = opening ?? this.#sessionOf(req)
    const { auth, keyLogin = true } = this.#parts
    const isOpen = (await auth.authenticate({ method: 'GET', headers: {}, peer })).ok
    const needs_key = keyLogin && !isOpen
    answerJson(res, 200, { logged_in: session !== null, notes: mayNote(session), needs_key })
  }

  async #byCode(req: IncomingMessage): Promise<Opening | null> {
    const body = await readJsonBody(req, { ...this.#parts.limits, maxMessageBytes: maxLoginBytes })
    const { success, data } = loginSchema.safeParse(body)
    if (!success) {
      throw new ServiceError('body_invalid', 'the body must be {"code": TEXT}, or {} to ask')
    }
    if (data.code === undefined) return null
    if (this.#sessions.redeem(data.code)) return { mayWrite: true, keyHolder: null }
    const detail = 'the login link is invalid: it works once, for five minutes'
    throw new ServiceError('login_invalid', detail)
  }

  async #byKey({ headers }: IncomingMessage, peer: string): Promise<Opening> {
    const { auth, keyLogin = true } = this.#parts
    const outcome = keyLogin ? await auth.authenticate({ method: 'POST', headers, peer }) : null
    if (outcome === null || (outcome.ok && outcome.principal === anonymous)) {
      throw new ServiceError('auth_refused', `this server takes no keys: ${linkHint}`)
    }
    if (!outcome.ok) {
      const { status, description } = outcome
      throw new ServiceError(status === 429 ? 'limit_reached' : 'auth_refused', description)
    }
    const { principal, mayWrite = true, expiresAtMs, viewer, watch } = outcome
    return { mayWrite, keyHolder: principal, expiresAtMs, viewer, watch }
  }

  #logOut(req: IncomingMessage, res: ServerResponse): void {
    this.#sessions.end(cookieOf(req.headers))
    this.#setCookie(req, res, '', 0)
    res.writeHead(204, { 'Cache-Control': 'no-store' }).end()
  }

  #setCookie(req: IncomingMessage, res: ServerResponse, value: string, maxAge: number): void {
    const isBehindHttps = this.#parts.publicUrl?.startsWith('https:') === true
    const secure = isBehindHttps || req.socket instanceof TLSSocket
    const attributes = { path: '/', httpOnly: true, sameSite: 'Strict', secure, maxAge } as const
    res.setHeader('Set-Cookie', serialize(cookieName(req.headers), value, attributes))
  }

  /** Throws `auth_required` without a login. */
  #writer(req: IncomingMessage, context: RequestContext): PageSession {
    const session = this.#sessionOf(req)
    if (session === null) {
      throw new ServiceError('auth_required', 'this browser is not logged in', { hint: linkHint })
    }
    context.principal = session.principal
    return session
  }

  async #postNote(
    req: IncomingMessage,
    res: ServerResponse,
    context: RequestContext,
    notes: NoteWriter | null,
  ): Promise<void> {
    const { path } = context
    if (!mayNote(this.#writer(req, context))) {
      const hint = `agents hold keys, too: ${linkHint}`
      throw refused('a login by key makes and settles no notes', hint)
    }
    if (path.endsWith('/answer')) throw refused('the page answers no notes: agents do')
    const named = path === '/page/notes' ? { author: pageName } : { by: pageName }
    const body = await readJsonBody(req, this.#parts.limits)
    const filled = isJsonObject(body) ? { ...named, ...body } : body
    answerJson(res, 200, await writeNote(path.slice('/page/'.length), filled, notes))
  }
}

/** A login by key makes and settles no notes: keys are what agents hold. */
function mayNote(session: Opening | null): boolean {
  return session !== null && session.keyHolder === null
}

/** Browsers send a cookie to every port of its host: each server has its own name for it. */
function cookieName({ host = '' }: IncomingHttpHeaders): string {
  // The port of a server that is reached without one is that of HTTPS, mostly behind a proxy.
  return `service-page-${host.slice(hostName(host).length + 1) || '443'}`
}

/** Empty when there is none. */
function cookieOf(headers: IncomingHttpHeaders): string {
  const name = cookieName(headers)
  return parse(headers.cookie ?? '', name)[name] ?? ''
}

function refused(detail: string, hint?: string): ServiceError {
  return new ServiceError('request_refused', detail, { hint })
}
