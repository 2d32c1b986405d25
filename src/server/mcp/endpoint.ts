import type { IncomingMessage, ServerResponse } from 'node:http'
import type { RequestId } from '../../lib/mcp/json-rpc.ts'
import { metaKeys } from '../../lib/mcp/request-metadata.ts'
import { ServiceError } from '../../lib/util/errors.ts'
import type { Logger } from '../../lib/util/logger.ts'
import { type Clock, systemTimer } from '../../lib/util/time.ts'
import { version } from '../../lib/util/version.ts'
import { readBody } from '../http/body.ts'
import { accepts, isJsonType, isUncoded } from '../http/media.ts'
import type { RequestContext } from '../http/request-context.ts'
import type { ServedResources } from '../resources/served-resources.ts'
import type { EndpointActivity } from './activity.ts'
import { Call, type CallParts, type Served } from './call.ts'
import type { ClientTable } from './client-table.ts'
import { rpcCodes, toRpcError } from './errors.ts'
import { EventStream } from './event-stream.ts'
import {
  type Inbound,
  isBatch,
  type Message,
  type NotificationMessage,
  parseBody,
  parseMessage,
  type RequestMessage,
} from './json-rpc.ts'
import { errorMessage, JsonText, resultMessage } from './json-text.ts'
import type { KeptSessions } from './kept-sessions.ts'
import type { McpLimits } from './limits.ts'
import { ListenStreams } from './listen.ts'
import { createInitializeResults, createMethods, type MethodTable } from './methods.ts'
import { refusalMessage } from './refusal.ts'
import { assertAllowed, recordCall } from './request-context.ts'
import { drained, sendAnswer, sendJson, sendNoAnswer, sendRefusal, writeParts } from './send.ts'
import {
  findSession,
  negotiate,
  type Session,
  sessionEncoder,
  type SessionRevision,
  Sessions,
} from './sessions.ts'
import { classify, envelopeProblem } from './stateless.ts'
import { SubscriptionHub } from './subscriptions.ts'
import type { ToolBox, ToolParts } from './tools/tools.ts'
import { createToolMethods } from './tools/tool-methods.ts'

/** Messages in one JSON-RPC batch. */
const maxBatchMessages = 100

const methodNotFound = { code: rpcCodes.methodNotFound, message: 'method not found' }

export interface McpEndpoint {
  handle(req: IncomingMessage, res: ServerResponse, context: RequestContext): void | Promise<void>
  activity(): EndpointActivity
  /** The server is about to stop: calls that wait are told so, before what they wait for goes. */
  endWaits(): void
  /** Ends sessions and streams; the server stops. */
  close(): void
}

interface McpEndpointParts {
  registry: ServedResources
  resourcesEnabled: boolean
  /** Told who asks for what. */
  clients?: ClientTable
  /** Sessions of the server that had the port before. Absent: a restart ends all. */
  kept?: KeptSessions
  /** Absent: no tools. Without resources there are none either. */
  tools?: (parts: ToolParts) => ToolBox
  /** How a model finds its way about what is served. */
  instructions: string
  limits: McpLimits
  clock: Clock
  log: Logger
}

/** `/mcp`: chooses the transport of each request, runs its method, and answers. */
export class Endpoint implements McpEndpoint {
  readonly #parts: McpEndpointParts
  readonly #hub: SubscriptionHub
  readonly #sessions: Sessions
  readonly #streams: ListenStreams
  readonly #methods: MethodTable
  readonly #initializeResults: ReadonlyMap<SessionRevision, JsonText>
  readonly #served: Served
  readonly #toolBox: ToolBox | undefined
  readonly #detach: () => void
  /** The first members of every result of the stateless transport. */
  readonly #opening: string
  #pendingCalls = 0

  constructor(parts: McpEndpointParts) {
    const { registry, resourcesEnabled, clients, kept, instructions, limits, clock, log } = parts
    this.#parts = parts
    const serverInfo = { name: 'service-cli', title: 'service-cli', version }
    const hub = new SubscriptionHub(limits, (uri, isFollowed) => registry.followed(uri, isFollowed))
    this.#hub = hub
    this.#sessions = new Sessions({ hub, clients, kept, clock, limits })
    this.#streams = new ListenStreams({ hub, serverInfo, limits })
    const toolParts = {
      registry,
      hub,
      clock,
      timer: systemTimer,
      limits,
      waits: new Set<() => void>(),
    }
    const box = resourcesEnabled ? parts.tools?.(toolParts) : undefined
    this.#toolBox = box
    this.#served = { resources: registry, tools: box ? createToolMethods(box.tools, log) : null }
    const offered = {
      identity: { ...serverInfo, instructions },
      resourcesEnabled,
      toolsEnabled: box !== undefined,
      extensions: box?.extensions,
    }
    this.#methods = createMethods({ ...offered, sessions: this.#sessions, streams: this.#streams })
    this.#initializeResults = createInitializeResults(offered)
    const _meta = { [metaKeys.serverInfo]: serverInfo }
    this.#opening = `${JSON.stringify({ resultType: 'complete', _meta }).slice(1, -1)},`
    this.#detach = registry.listen(hub)
  }

  handle(req: IncomingMessage, res: ServerResponse, context: RequestContext): void | Promise<void> {
    switch (req.method) {
      case 'POST':
        return this.#post(req, res, context)
      case 'GET':
        return this.#openStream(res, context)
      case 'DELETE':
        return this.#deleteSession(res, context)
      default:
        return this.#refuseEarly(res, 405, 'method not allowed', { Allow: 'GET, POST, DELETE' })
    }
  }

  activity(): EndpointActivity {
    return {
      pendingCalls: this.#pendingCalls,
      tools: this.#served.tools?.count ?? 0,
      sessions: this.#sessions.size,
      streams: this.#sessions.streams + this.#streams.size,
      subscriptions: this.#hub.size.subscriptions,
      subscribers: this.#hub.size.subscribers,
    }
  }

  endWaits(): void {
    this.#toolBox?.close()
  }

  close(): void {
    this.#detach()
    this.endWaits()
    this.#sessions.close()
    this.#streams.close()
  }

  async #post(req: IncomingMessage, res: ServerResponse, context: RequestContext): Promise<void> {
    const { headers } = req
    if (!isJsonType(headers['content-type'])) {
      return this.#refuseEarly(res, 415, 'Content-Type must be application/json')
    }
    if (!isUncoded(headers['content-encoding'])) {
      const message = 'a body with a Content-Encoding is not taken: send it uncompressed'
      return this.#refuseEarly(res, 415, message, { 'Accept-Encoding': 'identity' })
    }
    const { maxRequestBytes: maxBytes, bodyTimeoutMs: timeoutMs } = this.#parts.limits
    const inbound = parseBody(await readBody(req, { maxBytes, timeoutMs }))
    const classified = classify(headers, inbound)
    switch (classified.transport) {
      case 'session':
        return this.#postToSession(res, inbound, context)
      case 'stateless':
        return this.#postStateless(res, classified.message, context)
      case 'none':
        return sendJson(res, 400, errorMessage(classified.id, classified.error))
    }
  }

  /** Streamable HTTP with sessions, of revisions 2024-11-05 to 2025-11-25. */
  #postToSession(
    res: ServerResponse,
    inbound: Inbound,
    context: RequestContext,
  ): void | Promise<void> {
    const id = isBatch(inbound) || !('id' in inbound) ? null : inbound.id
    if (!acceptsAnswers(res.req.headers.accept)) {
      const message = 'Accept must allow both application/json and text/event-stream'
      return this.#refuse(res, 406, rpcCodes.refused, message, id)
    }
    if (!isBatch(inbound) && inbound.kind === 'invalid') {
      return this.#refuse(res, 400, inbound.code, inbound.problem, id)
    }
    const isInitialize =
      !isBatch(inbound) && inbound.kind === 'request' && inbound.method === 'initialize'
    if (isInitialize && res.req.headers['mcp-session-id'] === undefined) {
      return this.#initialize(res, inbound, context)
    }
    const session = this.#sessionOf(res, context, id)
    if (session === null) return
    if (isInitialize) {
      const message = 'this session is initialised already; start a new one without its header'
      return this.#refuse(res, 400, rpcCodes.invalidRequest, message, id)
    }
    if (isBatch(inbound)) return this.#answerBatch(res, inbound, session, context)
    if (inbound.kind === 'request') {
      recordCall(context, inbound)
      const call = new Call(inbound, { ...this.#served, res, context, session })
      return this.#deliver(call, this.#dispatch(inbound, call, context))
    }
    applyNotification(inbound, session)
    res.writeHead(202).end()
  }

  #initialize(res: ServerResponse, { id, params }: RequestMessage, context: RequestContext) {
    context.rpc = 'initialize'
    const revision = negotiate(params)
    if (!revision.ok) {
      const error = { code: rpcCodes.invalidParams, message: revision.failure }
      return sendJson(res, 200, errorMessage(id, error))
    }
    const { value } = revision
    const session = this.#sessions.create(value, context.principal, params.clientInfo)
    const result = this.#initializeResults.get(value)
    if (session === null || result === undefined) {
      const message = 'every session of this server is in use; try again later'
      return this.#refuse(res, 503, rpcCodes.refused, message, id, { 'Retry-After': '30' })
    }
    return sendJson(res, 200, resultMessage(id, result), { 'Mcp-Session-Id': session.id })
  }

  /**
   * Answers a batch with one JSON array, written as the answers come: a hundred large reads are never
   * held together. Without a request in it there is nothing to answer: 202.
   */
  async #answerBatch(
    res: ServerResponse,
    values: readonly unknown[],
    session: Session,
    context: RequestContext,
  ): Promise<void> {
    const refuse = (message: string) => this.#refuse(res, 400, rpcCodes.invalidRequest, message)
    // 2025-06-18 removed them again.
    if (session.revision !== '2025-03-26') {
      return refuse(`revision ${session.revision} has no batches: send one message per request`)
    }
    if (values.length === 0 || values.length > maxBatchMessages) {
      return refuse(`a batch must hold 1 to ${maxBatchMessages} messages`)
    }
    const messages = values.map(parseMessage)
    if (messages.some(message => 'method' in message && message.method === 'initialize')) {
      return refuse('initialize must not be part of a batch')
    }
    context.rpc = `batch of ${values.length}`
    for (const message of messages) applyNotification(message, session)
    const asked = messages.filter(({ kind }) => kind === 'request' || kind === 'invalid')
    if (asked.length === 0) return void res.writeHead(202).end()
    const parts = { ...this.#served, res, context, session, isBatched: true }
    for (const message of asked) {
      if (!this.#sessions.isLive(session)) break
      const answer = await this.#answerInBatch(message, parts)
      if (answer === null) continue
      const isFirst = !res.headersSent
      if (isFirst) res.writeHead(200, { 'Content-Type': 'application/json' })
      await writeParts(res, [isFirst ? '[' : ',', ...answer.parts])
      await drained(res)
      if (res.destroyed) return
    }
    if (res.headersSent) res.end(']')
    else sendNoAnswer(res)
  }

  async #answerInBatch(message: Message, parts: CallParts): Promise<JsonText | null> {
    if (message.kind === 'invalid') {
      return errorMessage(message.id, { code: message.code, message: message.problem })
    }
    if (message.kind !== 'request') return null
    const call = new Call(message, parts)
    const cancelled = new Promise<null>(resolve => {
      call.signal.addEventListener('abort', () => resolve(null))
    })
    return Promise.race([this.#dispatch(message, call, parts.context), cancelled])
  }

  /** Revision 2026-07-28: every POST stands for itself. No session is made, asked for or named. */
  #postStateless(
    res: ServerResponse,
    message: RequestMessage | NotificationMessage,
    context: RequestContext,
  ): void | Promise<void> {
    recordCall(context, message)
    const problem = envelopeProblem(res.req.headers, message)
    const id = message.kind === 'request' ? message.id : undefined
    if (problem !== null) return sendJson(res, 400, errorMessage(id, problem))
    // No notification asks for anything: a client ends a stream by closing it.
    if (message.kind === 'notification') return void res.writeHead(202).end()
    if (this.#method(message.method, 'stateless') === undefined) {
      return sendJson(res, 404, errorMessage(id, methodNotFound))
    }
    // A stream names its resources in its filter: a `uri` beside it would be kept while it is open.
    if (message.method === 'subscriptions/listen') context.uri = undefined
    const client = this.#parts.clients?.ofRequest(message.params, context.principal)
    const call = new Call(message, { ...this.#served, res, context, client })
    // Closing the connection cancels a request here ("Cancellation"), but not in a session.
    res.once('close', () => call.cancel())
    return this.#deliver(call, this.#dispatch(message, call, context))
  }

  #method(name: string, transport: 'session' | 'stateless') {
    const method = this.#methods.get(name)
    return method?.in === 'both' || method?.in === transport ? method : undefined
  }

  /**
   * The answer; null when there is none, because of a stream or a cancellation. Throws
   * `scope_insufficient` for a call that the caller may not make, unless it is batched.
   */
  #dispatch(
    message: RequestMessage,
    call: Call,
    context: RequestContext,
  ): Promise<JsonText | null> {
    const { method: name, params } = message
    if (!call.isBatched) assertAllowed(message, context, this.#parts)
    const method = this.#method(name, call.session === null ? 'stateless' : 'session')
    if (method === undefined) return Promise.resolve(errorMessage(call.id, methodNotFound))
    const succeeded = call.client && this.#parts.clients?.began(call.client, message)
    const running = Promise.try(() => {
      if (call.isBatched) assertAllowed(message, context, this.#parts)
      return method.run(params, call)
    })
    const opening = call.session === null ? this.#openingOf(method.freshMs?.(params)) : ''
    return this.#settled(call, running, opening, succeeded)
  }

  /** Holds no params, which may be large, while the call waits. */
  async #settled(
    call: Call,
    running: Promise<JsonText | null>,
    opening: string,
    succeeded: (() => void) | undefined,
  ): Promise<JsonText | null> {
    this.#pendingCalls++
    try {
      const members = await running
      if (members === null) return null
      if (!members.isFailure) succeeded?.()
      return resultMessage(call.id, members, opening)
    } catch (error) {
      return this.#failed(call, error)
    } finally {
      call.session?.remove(call)
      this.#pendingCalls--
    }
  }

  async #deliver(call: Call, answering: Promise<JsonText | null>): Promise<void> {
    const answer = await answering
    if (answer !== null && !call.isCancelled) return sendAnswer(call.res, answer)
  }

  /** Results of the stateless transport say how long they may be cached; never by others ("public"). */
  #openingOf(freshMs: number | undefined): string {
    if (freshMs === undefined) return this.#opening
    return `${this.#opening}"ttlMs":${freshMs},"cacheScope":"private",`
  }

  #failed({ id, method, session }: Call, error: unknown): JsonText {
    // A failed read is logged where it failed; a client error needs no log entry.
    if (!(error instanceof ServiceError) || error.code === 'internal') {
      this.#parts.log.error({ err: error, rpc: method }, 'a request failed')
    }
    return errorMessage(id, toRpcError(error, session === null ? 'stateless' : 'session'))
  }

  #openStream(res: ServerResponse, context: RequestContext): void {
    if (!accepts(res.req.headers.accept, 'text/event-stream')) {
      return this.#refuse(res, 406, rpcCodes.refused, 'Accept must allow text/event-stream')
    }
    const session = this.#sessionOf(res, context)
    // A client that left while it was being authenticated has no stream to keep.
    if (session === null || res.destroyed) return
    const stream = new EventStream(res, sessionEncoder, this.#parts.limits)
    stream.open()
    this.#sessions.attach(session, stream)
    res.on('close', () => {
      if (session.stream !== stream) return
      session.stream = null
      this.#sessions.touch(session)
    })
  }

  async #deleteSession(res: ServerResponse, context: RequestContext): Promise<void> {
    const session = this.#sessionOf(res, context)
    if (session === null) return
    await this.#sessions.delete(session)
    res.writeHead(204).end()
  }

  /** The session of a request, or null after the request was refused. */
  #sessionOf(
    res: ServerResponse,
    context: RequestContext,
    id: RequestId | null = null,
  ): Session | null {
    const found = findSession(res.req.headers, context.principal, this.#sessions)
    if (found.ok) return found.value
    const { status, code, message } = found.failure
    this.#refuse(res, status, code, message, id)
    return null
  }

  #refuse(
    res: ServerResponse,
    status: number,
    code: number,
    message: string,
    id: RequestId | null = null,
    headers: Record<string, string> = {},
  ): void {
    const answer = errorMessage(id, { code, message })
    sendRefusal(res, status, answer, headers, this.#parts.limits.refusedBodyDrainMs)
  }

  /** Refuses what was not read. */
  #refuseEarly(
    res: ServerResponse,
    status: number,
    message: string,
    headers: Record<string, string> = {},
  ): void {
    const answer = refusalMessage(res.req.headers, status, message)
    sendRefusal(res, status, answer, headers, this.#parts.limits.refusedBodyDrainMs)
  }
}

function acceptsAnswers(accept: string | undefined): boolean {
  // As the official SDKs write it.
  if (accept === 'application/json, text/event-stream') return true
  return accepts(accept, 'application/json') && accepts(accept, 'text/event-stream')
}

/** The one notification that has an effect. */
function applyNotification(message: Message, session: Session): void {
  if (message.kind !== 'notification' || message.method !== 'notifications/cancelled') return
  session.cancel(message.params.requestId)
}
