import type { IncomingMessage, ServerResponse } from 'node:http'
import { TLSSocket } from 'node:tls'
import { bearerToken } from '../../lib/auth/validate-bearer-token.ts'
import type { HostLimits } from '../host/limits.ts'
import { ServiceError } from '../../lib/util/errors.ts'
import { isJsonObject } from '../../lib/util/json.ts'
import type { Clock } from '../../lib/util/time.ts'
import type { ArtefactStore } from '../artefacts/store.ts'
import { FailureLimit } from '../auth/failure-limit.ts'
import { checkArtefactMediaType, checkJsonMediaType, type Refusal } from '../host/guards.ts'
import { receiveNote, UploadIntake } from '../host/receive.ts'
import { shortened } from '../http/access-log.ts'
import type { NodeHandler } from '../http/app.ts'
import type { RefusedRequest } from '../http/refusal-log.ts'
import {
  type AuthOutcome,
  type AuthPolicy,
  type AuthRefused,
  writeRefused,
} from '../http/authentication.ts'
import { toProblem, writeProblem } from '../http/problem.ts'
import type { RequestContext } from '../http/request-context.ts'
import { notePost, type NoteWriter } from '../notes/note-posts.ts'
import { builtFolder, PageFiles, sendFile } from './files.ts'
import { checkSameOrigin, findWriter } from './request-checks.ts'
import { SessionRoutes, sessionPath, tokenPath } from './session-routes.ts'
import { codeMs, type PageSession, PageSessions, tokenPrefix } from './sessions.ts'

export interface PageParts {
  /** Decides on requests without a token of the page, and on keys that people type. */
  readonly auth: AuthPolicy
  /** False: only links let people in. Default true. */
  readonly keyLogin?: boolean
  /** Where posts go; null on a server that keeps nothing. */
  readonly writes: PageWrites | null
  /** Where browsers reach the server; null before it listens. */
  readonly baseUrl: () => string | null
  /** The address of a proxy in front, which may end HTTPS and leave the port out of `Host`. */
  readonly publicUrl: string | undefined
  /** Default: that of the build. */
  readonly folder?: string
  readonly onRefused: (refused: RefusedRequest) => void
  readonly limits: HostLimits
  /** Wall-clock time. */
  readonly clock: Clock
}

interface PageWrites {
  /** Null when notes are switched off. */
  readonly notes: NoteWriter | null
  /** Null when artefacts are switched off. */
  readonly store: Pick<ArtefactStore, 'put'> | null
}

/** A link that logs a browser in. Member names are those on the wire. */
export interface PageLogin {
  readonly url: string
  /** Seconds. */
  readonly expires_in: number
}

/** The live page of a server: its files, its logins, and what it writes. */
export class Page {
  /** The policy of the server, which also accepts the tokens of the page. */
  readonly auth: AuthPolicy
  readonly #parts: PageParts
  readonly #files: PageFiles
  readonly #sessions: PageSessions
  readonly #sessionRoutes: SessionRoutes
  readonly #uploads: UploadIntake

  constructor(parts: PageParts) {
    const { auth, keyLogin = true, folder = builtFolder, limits, clock } = parts
    this.#parts = parts
    this.#files = new PageFiles(folder)
    this.#sessions = new PageSessions({ clock, limits })
    this.auth = acceptPageTokens(auth, this.#sessions)
    this.#sessionRoutes = new SessionRoutes({
      sessions: this.#sessions,
      keys: keyLogin ? auth : null,
      failures: new FailureLimit(),
      isHttps: req => this.#isHttps(req),
      limits,
      clock,
    })
    this.#uploads = new UploadIntake(limits)
  }

  /** A fresh link, valid once; null before the server listens. */
  login(): PageLogin | null {
    const base = this.#parts.baseUrl()
    if (base === null) return null
    return { url: `${base}/#login=${this.#sessions.createCode()}`, expires_in: codeMs / 1000 }
  }

  /** `/` and `/page/…`, by pattern. They throw a `ServiceError` for a request that is wrong. */
  get routes(): Record<string, NodeHandler> {
    const handle: NodeHandler = (req, res, context) => this.#handle(req, res, context)
    return { '/': handle, '/page/*': handle }
  }

  async #handle(req: IncomingMessage, res: ServerResponse, context: RequestContext): Promise<void> {
    const refusal = await this.#answer(req, res, context.path, context)
    if (refusal === null) return
    const { reason, error, headers } = refusal
    const problem = toProblem(error)
    const { status } = problem
    if (status === 401 || status === 403) {
      this.#parts.onRefused({ status, reason, peer: context.peer })
    }
    writeProblem(res, problem, headers)
  }

  async #answer(
    req: IncomingMessage,
    res: ServerResponse,
    path: string,
    caller: RequestContext,
  ): Promise<Refusal | null> {
    const write = this.#writeAt(path)
    const isSession = path === sessionPath || path === tokenPath
    if (write === null && !isSession) return this.#sendFile(req, res, path)
    const foreign = checkSameOrigin(req.headers, this.#parts.publicUrl)
    if (foreign !== null) return foreign
    const methods = path === sessionPath ? ['POST', 'DELETE'] : ['POST']
    const wrongMethod = checkMethod(req, path, methods)
    if (wrongMethod !== null) return wrongMethod
    if (write === null) return this.#sessionRoutes.handle(req, res, path, caller.peer)
    const writer = findWriter(req.headers, this.#sessions)
    if ('error' in writer) return writer
    caller.principal = writer.principal
    return write(req, res, writer)
  }

  async #sendFile(
    req: IncomingMessage,
    res: ServerResponse,
    path: string,
  ): Promise<Refusal | null> {
    const file = await this.#files.find(path)
    const wrongMethod = checkMethod(req, path, ['GET', 'HEAD'])
    if (wrongMethod === null) sendFile(req, res, file, this.#isHttps(req))
    return wrongMethod
  }

  /** Whether the browser uses HTTPS, also where a proxy ends it. */
  #isHttps({ socket }: IncomingMessage): boolean {
    return socket instanceof TLSSocket || this.#parts.publicUrl?.startsWith('https:') === true
  }

  /** What a post to this address writes; null: nothing. */
  #writeAt(path: string): Write | null {
    const { writes, limits } = this.#parts
    if (writes === null) return null
    const { notes, store } = writes
    if (path === '/page/artefacts') {
      return (req, res, session) => this.#upload(req, res, store, session)
    }
    const post = notePost(path.slice('/page/'.length))
    if (post === null) return null
    return async (req, res, { mayNote }) => {
      if (!mayNote) return keyRefused
      const wrongType = checkJsonMediaType(req.headers['content-type'])
      if (wrongType !== null) return wrongType
      if (path.endsWith('/answer')) return answerRefused
      const named = path === '/page/notes' ? { author: pageName } : { by: pageName }
      const filled = (body: unknown) => post(isJsonObject(body) ? { ...named, ...body } : body)
      await receiveNote(req, res, filled, { notes, limits })
      return null
    }
  }

  async #upload(
    req: IncomingMessage,
    res: ServerResponse,
    store: PageWrites['store'],
    session: PageSession,
  ): Promise<Refusal | null> {
    const wrongType = checkArtefactMediaType(req.headers['content-type'])
    if (wrongType !== null) return wrongType
    const { uploads } = session
    const tooMuch = () =>
      new ServiceError('limit_reached', 'the page has uploaded as much as it may in an hour', {
        hint: `try again in ${Math.ceil(uploads.secondsLeft / 60)} minutes, or use service-cli artefacts put`,
      })
    // Said before the body is sent.
    if (!uploads.has(Number(req.headers['content-length'] ?? 0))) throw tooMuch()
    await this.#uploads.receive(req, res, store, async function* (source) {
      for await (const piece of source) {
        if (session.isEnded) throw new ServiceError('auth_refused', 'the login has ended')
        if (!uploads.take(piece.length)) throw tooMuch()
        yield piece
      }
    })
    return null
  }
}

type Write = (
  req: IncomingMessage,
  res: ServerResponse,
  session: PageSession,
) => Promise<Refusal | null>

/** The author of notes, and of actions on them, where the page names none. */
const pageName = 'page'

const keyRefused: Refusal = {
  reason: 'note_by_key',
  error: new ServiceError('request_refused', 'a login by key makes and settles no notes', {
    hint: 'agents hold keys, too: open a link of service-cli page',
  }),
  headers: {},
}

const answerRefused: Refusal = {
  reason: 'answer',
  error: new ServiceError('request_refused', 'the page answers no notes: agents do'),
  headers: {},
}

function checkMethod(
  { method = '' }: IncomingMessage,
  path: string,
  allowed: string[],
): Refusal | null {
  if (allowed.includes(method)) return null
  const detail = `${shortened(path)} answers ${allowed.join(' and ')}`
  const error = new ServiceError('method_not_allowed', detail)
  return { reason: 'method', error, headers: { Allow: allowed.join(', ') } }
}

/**
 * Accepts the bearer tokens of the page in front of another policy. A session reads what a key
 * reads, and never answers notes: that is for agents. It ends with the key that it was opened with.
 */
function acceptPageTokens(policy: AuthPolicy, sessions: PageSessions): AuthPolicy {
  return {
    authenticate(caller) {
      const token = bearerToken(caller.headers.authorization)
      if (token?.startsWith(tokenPrefix) !== true) return policy.authenticate(caller)
      return outcomeOf(token, sessions)
    },
    refuseWrite: () => policy.refuseWrite?.() ?? writeRefused,
    onRevoked(listener) {
      const stops = [
        sessions.onEnded(listener),
        policy.onRevoked?.(principal => {
          sessions.endOf(principal)
          listener(principal)
        }),
      ]
      return () => stops.forEach(stop => stop?.())
    },
  }
}

function outcomeOf(token: string, sessions: PageSessions): AuthOutcome {
  const session = sessions.ofToken(token)
  if (session === null) return tokenRefused
  const { principal, mayWrite, expiresAtMs, viewer } = session
  // What is open lasts as long as the session: a stream that is cut every ten minutes would look
  // like a server that is away.
  return { ok: true, principal, mayWrite, mayAnswer: false, expiresAtMs, viewer }
}

/** Not counted as a guess: each page has an old one after the server was started again. */
const tokenRefused: AuthRefused = {
  ok: false,
  status: 401,
  error: 'invalid_token',
  description: 'the token of the page has expired, or its login has ended',
}
