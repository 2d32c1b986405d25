import type { McpLimits } from '../limits.ts'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { onAbort } from '../../../lib/util/abort.ts'
import type { JsonObject } from '../../../lib/util/json.ts'
import type { Clock } from '../../../lib/util/time.ts'
import type { Logger } from '../../../lib/util/logger.ts'
import type { RequestId } from '../../../lib/mcp/json-rpc.ts'
import { accepts } from '../../http/media.ts'
import { rpcCodes } from '../errors.ts'
import { EventStream } from '../event-stream.ts'
import { failedRequest } from '../failed-request.ts'
import type { Activity } from '../client.ts'
import type { UnsentAnswerBudget } from '../unsent-answer-budget.ts'
import { type GatheredWrites, sendAnswer, sendJson, sendNoAnswer, sendRefusal } from '../send.ts'
import {
  assertAllowed,
  isReadOnly,
  recordCall,
  type RequestContext,
  type ServerIdentity,
  type WriteRules,
} from '../request-context.ts'
import { errorMessage, type JsonText, resultMessage } from '../json-text.ts'
import {
  type Inbound,
  isBatch,
  type Message,
  parseMessage,
  type RequestMessage,
} from '../json-rpc.ts'
import type { KeepAlive } from '../keep-alive.ts'
import { progressOf } from '../progress.ts'
import type { Caller } from '../tools/tool.ts'
import { answerBatch } from './batch.ts'
import {
  allowsBatches,
  createInitializeResults,
  parseInitialize,
  sessionCodes,
  type SessionRevision,
} from './initialize.ts'
import { sessionEncoder } from './encoder.ts'
import { findSession, type Session, type Sessions } from './sessions.ts'
import type { MethodTable } from './methods.ts'

/** Messages in one JSON-RPC batch. */
const maxBatchMessages = 100

interface SessionEndpointParts {
  sessions: Sessions
  methods: MethodTable
  rules: WriteRules
  keepAlive: KeepAlive
  held: UnsentAnswerBudget
  gathered: GatheredWrites
  identity: ServerIdentity
  resourcesEnabled: boolean
  toolsEnabled: boolean
  extensions: JsonObject | undefined
  limits: McpLimits
  clock: Clock
  log: Logger
}

/** Streamable HTTP with sessions: POST, GET and DELETE of revisions 2024-11-05 to 2025-11-25. */
export class SessionEndpoint {
  readonly #parts: SessionEndpointParts
  #lastGoodAccept: string | undefined
  readonly #initializeResult: (revision: SessionRevision) => JsonText

  constructor(parts: SessionEndpointParts) {
    this.#parts = parts
    this.#initializeResult = createInitializeResults(parts.identity, parts)
  }

  post(
    req: IncomingMessage,
    res: ServerResponse,
    inbound: Inbound,
    context: RequestContext,
  ): void | Promise<void> {
    if (!this.#acceptsAnswers(req.headers.accept)) {
      const message = 'Accept must allow both application/json and text/event-stream'
      return this.#refuse(res, 406, rpcCodes.refused, message, idOf(inbound))
    }
    if (isBatch(inbound)) return this.#batch(req, res, inbound, context)
    return this.#single(req, res, inbound, context)
  }

  get(req: IncomingMessage, res: ServerResponse, context: RequestContext): void | Promise<void> {
    if (!accepts(req.headers.accept, 'text/event-stream')) {
      return this.#refuse(res, 406, rpcCodes.refused, 'Accept must allow text/event-stream')
    }
    const session = this.#session(req, res, context)
    // A client that left while it was being authenticated has no stream to keep.
    if (session === null || res.destroyed) return
    const { clock, keepAlive, gathered } = this.#parts
    const now = () => clock.now()
    const stream = new EventStream(res, sessionEncoder, { gathered, now })
    stream.open()
    const forget = keepAlive.add(stream)
    // Each message goes to exactly one stream of a session: the newest, the older one ends.
    session.stream?.end()
    session.stream = stream
    session.client?.opened(res)
    res.on('close', () => {
      forget()
      if (session.stream !== stream) return
      session.stream = null
      session.lastSeenMs = clock.now()
    })
  }

  delete(req: IncomingMessage, res: ServerResponse, context: RequestContext): void {
    const session = this.#session(req, res, context)
    if (session === null) return
    this.#parts.sessions.end(session)
    res.writeHead(204).end()
  }

  /** Clients send one Accept header over and over: the last good one is not parsed again. */
  #acceptsAnswers(accept: string | undefined): boolean {
    if (accept !== undefined && accept === this.#lastGoodAccept) return true
    const good = accepts(accept, 'application/json') && accepts(accept, 'text/event-stream')
    if (good) this.#lastGoodAccept = accept
    return good
  }

  #single(
    req: IncomingMessage,
    res: ServerResponse,
    message: Message,
    context: RequestContext,
  ): void | Promise<void> {
    if (message.kind === 'invalid') {
      return this.#refuse(res, 400, message.code, message.problem, message.id)
    }
    if (message.kind === 'request' && message.method === 'initialize') {
      context.rpc = message.method
      return this.#initialize(req, res, message, context)
    }
    const session = this.#session(req, res, context, idOf(message))
    if (session === null) return
    if (message.kind !== 'request') {
      applyNotification(message, session)
      res.writeHead(202).end()
      return
    }
    recordCall(context, message)
    assertAllowed(message, context, this.#parts.rules)
    const answer = this.#dispatch(message, session, context, {
      progress: progressOf(req, res, message),
    })
    const { held } = this.#parts
    const { id } = message
    return answer instanceof Promise
      ? answer.then(text => (text === null ? sendNoAnswer(res) : sendAnswer(res, held, id, text)))
      : sendAnswer(res, held, id, answer)
  }

  #batch(
    req: IncomingMessage,
    res: ServerResponse,
    values: readonly unknown[],
    context: RequestContext,
  ): void | Promise<void> {
    const session = this.#session(req, res, context)
    if (session === null) return
    if (!allowsBatches(session.revision)) {
      const message = `revision ${session.revision} has no batches: send one message per request`
      return this.#refuse(res, 400, rpcCodes.invalidRequest, message)
    }
    if (values.length === 0 || values.length > maxBatchMessages) {
      const message = `a batch must hold 1 to ${maxBatchMessages} messages`
      return this.#refuse(res, 400, rpcCodes.invalidRequest, message)
    }
    const messages = values.map(parseMessage)
    if (messages.some(message => 'method' in message && message.method === 'initialize')) {
      const message = 'initialize must not be part of a batch'
      return this.#refuse(res, 400, rpcCodes.invalidRequest, message)
    }
    context.rpc = `batch of ${values.length}`
    for (const message of messages) applyNotification(message, session)
    return answerBatch(res, messages, {
      dispatch: request =>
        this.#dispatch(request, session, context, { progress: null, isBatched: true }),
      held: this.#parts.held,
      isLive: () => this.#parts.sessions.isLive(session),
    })
  }

  #initialize(
    req: IncomingMessage,
    res: ServerResponse,
    request: RequestMessage,
    context: RequestContext,
  ): void | Promise<void> {
    const { sessions } = this.#parts
    if (req.headers['mcp-session-id'] !== undefined) {
      if (this.#session(req, res, context, request.id) === null) return
      const message = 'this session is initialised already; start a new one without its header'
      return this.#refuse(res, 400, rpcCodes.invalidRequest, message, request.id)
    }
    const revision = parseInitialize(request.params)
    if (!revision.ok) {
      const error = { code: rpcCodes.invalidParams, message: revision.failure }
      return sendJson(res, 200, errorMessage(request.id, error))
    }
    const session = sessions.open(revision.value, context.principal, request.params.clientInfo)
    if (session === null) {
      const message = 'every session of this server is in use; try again later'
      return this.#refuse(res, 503, rpcCodes.refused, message, request.id, { 'Retry-After': '30' })
    }
    const result = this.#initializeResult(revision.value)
    return sendJson(res, 200, resultMessage(request.id, result), { 'Mcp-Session-Id': session.id })
  }

  /** The session of a request, or null after the request was refused. */
  #session(
    req: IncomingMessage,
    res: ServerResponse,
    context: RequestContext,
    id: RequestId | null = null,
  ): Session | null {
    const found = findSession(req.headers, context.principal, this.#parts.sessions)
    if (found.ok) return found.value
    const { status, code, message } = found.failure
    void this.#refuse(res, status, code, message, id)
    return null
  }

  #refuse(
    res: ServerResponse,
    status: number,
    code: number,
    message: string,
    id: RequestId | null = null,
    headers: Record<string, string> = {},
  ): void | Promise<void> {
    const answer = errorMessage(id, { code, message })
    return sendRefusal(res, status, answer, headers, this.#parts.limits.refusedBodyDrainMs)
  }

  /** The answer; null when the client cancelled the request before there was one. */
  #dispatch(
    request: RequestMessage,
    session: Session,
    context: RequestContext,
    call: Pick<Caller, 'progress' | 'isBatched'>,
  ): JsonText | Promise<JsonText | null> {
    const { id, method, params } = request
    const run = this.#parts.methods.get(method)
    if (run === undefined) {
      return errorMessage(id, { code: rpcCodes.methodNotFound, message: 'method not found' })
    }
    const activity = session.client?.begin(request) ?? null
    const open = session.requests.begin(id)
    const ended = () => session.requests.end(id, open)
    try {
      assertAllowed(request, context, this.#parts.rules)
      const reader = { signal: open.signal, isReadOnly: isReadOnly(context) }
      const { principal, mayAnswer } = context
      const clientName = session.client?.name
      const result = run(params, session, { reader, principal, clientName, mayAnswer, ...call })
      if (!(result instanceof Promise)) {
        ended()
        return answered(id, result, activity)
      }
      const answer = result.then(
        text => answered(id, text, activity),
        // Without the params, which may be large, while the call may wait for long.
        (error: unknown) => this.#failed({ id, method }, activity, error),
      )
      const cancelled = new Promise<null>(resolve => onAbort(open.signal, () => resolve(null)))
      return Promise.race([answer.finally(ended), cancelled])
    } catch (error) {
      ended()
      return this.#failed(request, activity, error)
    }
  }

  #failed(
    request: Pick<RequestMessage, 'id' | 'method'>,
    activity: Activity | null,
    error: unknown,
  ): JsonText {
    activity?.end(false)
    return failedRequest(request, error, { codes: sessionCodes, log: this.#parts.log })
  }
}

function answered(id: RequestId, text: JsonText, activity: Activity | null): JsonText {
  activity?.end(!text.isFailure)
  return resultMessage(id, text)
}

/** The request that a refusal answers, if one can be made out. */
function idOf(inbound: Inbound): RequestId | null {
  return !isBatch(inbound) && 'id' in inbound ? inbound.id : null
}

/** The one notification that has an effect. */
function applyNotification(message: Message, session: Session): void {
  if (message.kind !== 'notification' || message.method !== 'notifications/cancelled') return
  session.requests.cancel(message.params.requestId)
}
