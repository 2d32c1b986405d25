import type { IncomingMessage, ServerResponse } from 'node:http'
import { ServiceError } from '../../lib/util/errors.ts'
import type { Logger } from '../../lib/util/logger.ts'
import { type Clock, systemTimer } from '../../lib/util/time.ts'
import { isWriteRefusal } from '../http/authentication.ts'
import { readBody } from '../http/body.ts'
import { accepts, isJsonType, isUncoded } from '../http/media.ts'
import type { Gauge } from '../http/metrics.ts'
import type { RequestContext } from '../http/request-context.ts'
import type { Notes } from '../notes/notes.ts'
import type { ServedResources } from '../resources/served-resources.ts'
import { Call, type CallParts, recordCall } from './call.ts'
import type { ClientTable } from './client-table.ts'
import { Refusal, rpcCodes, toRpcError } from './errors.ts'
import { EventStream } from './event-stream.ts'
import {
  type Inbound,
  type Message,
  parseBatch,
  parseBody,
  type RequestMessage,
} from './json-rpc.ts'
import { errorMessage, type JsonText, resultMessage } from './json-text.ts'
import type { KeptSessions } from './kept-sessions.ts'
import type { ServerLimits } from '../http/limits.ts'
import { ListenStreams } from './listen.ts'
import { createMethods, initializeResult, type MethodTable, type Offered } from './methods.ts'
import { drained, sendAnswer, sendJson, sendNoAnswer, sendRefusal, writeParts } from './send.ts'
import {
  negotiate,
  type Session,
  sessionEncoder,
  type SessionRevision,
  sessionRevisions,
  Sessions,
} from './sessions.ts'
import { envelopeProblem, isStateless, resultOpening } from './stateless.ts'
import { SubscriptionHub } from './subscriptions.ts'
import type { Tool } from './tools/tool.ts'
import { createToolMethods, type ToolMethods } from './tools/tool-methods.ts'

const methodNotFound = { code: rpcCodes.methodNotFound, message: 'method not found' }

export type EndpointActivity = ReturnType<Endpoint['activity']>

export type McpEndpoint = Pick<Endpoint, 'handle' | 'activity' | 'close'>

interface McpEndpointParts {
  registry: ServedResources
  resourcesEnabled: boolean
  /** Told who asks for what. */
  clients?: ClientTable
  /** Sessions of the server that had the port before. Absent: a restart ends all. */
  kept?: KeptSessions
  /** Without resources there are none. */
  tools: readonly Tool[]
  notes?: Notes
  /** How a model finds its way about what is served. */
  instructions: string
  limits: ServerLimits
  clock: Clock
  log: Logger
}

/** `/mcp`: chooses the transport of each request, runs its method, and answers. */
export class Endpoint {
  readonly #parts: McpEndpointParts
  readonly #hub: SubscriptionHub
  readonly #sessions: Sessions
  readonly #streams: ListenStreams
  readonly #methods: MethodTable
  readonly #tools: ToolMethods
  readonly #stop = new AbortController()
  /** Serialised once: they have the instructions, which are long. */
  readonly #initializeResults: Map<SessionRevision, JsonText>
  readonly #detach: () => void
  #pendingCalls = 0

  constructor(parts: McpEndpointParts) {
    const { registry, resourcesEnabled, clients, kept, notes, limits, clock, log } = parts
    this.#parts = parts
    const hub = new SubscriptionHub(limits.maxSubscriptions, (uri, isFollowed) =>
      registry.followed(uri, isFollowed),
    )
    this.#hub = hub
    this.#sessions = new Sessions({ hub, clients, kept, clock, limits })
    this.#streams = new ListenStreams({ resources: registry, hub, limits })
    const { signal: stopped } = this.#stop
    const given = { registry, hub, clock, timer: systemTimer, limits, notes, stopped }
    this.#tools = createToolMethods(resourcesEnabled ? parts.tools : [], given, log)
    const offered: Offered = { ...parts, tools: this.#tools }
    this.#initializeResults = new Map(
      sessionRevisions.map(revision => [revision, initializeResult(offered, revision)]),
    )
    this.#methods = createMethods({
      ...offered,
      resources: registry,
      sessions: this.#sessions,
      streams: this.#streams,
    })
    this.#detach = registry.listen(hub)
  }

  async handle(req: IncomingMessage, res: ServerResponse, context: RequestContext): Promise<void> {
    try {
      switch (req.method) {
        case 'POST':
          return await this.#post(req, res, context)
        case 'GET':
          return this.#openStream(res, context)
        case 'DELETE':
          return await this.#deleteSession(res, context)
        default:
          throw new Refusal(405, 'method not allowed', { headers: { Allow: 'GET, POST, DELETE' } })
      }
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      sendRefusal(res, error)
    }
  }

  /** What goes on at this moment. */
  activity() {
    return {
      /** Requests that are not answered yet. */
      pendingCalls: this.#pendingCalls,
      /** Tools that the endpoint offers. */
      tools: this.#tools.count,
      sessions: this.#sessions.size,
      /** Streams open for notifications, of any revision. */
      streams: this.#sessions.streams + this.#streams.size,
      subscriptions: this.#hub.size,
    }
  }

  /** Ends sessions and streams; the server stops. */
  close(): void {
    this.#detach()
    this.#stop.abort()
    this.#sessions.close()
    this.#streams.close()
  }

  async #post(req: IncomingMessage, res: ServerResponse, context: RequestContext): Promise<void> {
    const { headers } = req
    if (!isJsonType(headers['content-type'])) {
      throw new Refusal(415, 'Content-Type must be application/json')
    }
    if (!isUncoded(headers['content-encoding'])) {
      const message = 'a body with a Content-Encoding is not taken: send it uncompressed'
      throw new Refusal(415, message, { headers: { 'Accept-Encoding': 'identity' } })
    }
    const { maxRequestBytes: maxBytes, bodyTimeoutMs: timeoutMs } = this.#parts.limits
    const inbound = parseBody(await readBody(req, { maxBytes, timeoutMs }))
    if (isStateless(headers, inbound)) return this.#postStateless(res, inbound, context)
    return this.#postToSession(res, inbound, context)
  }

  /** Streamable HTTP with sessions, of revisions 2024-11-05 to 2025-11-25. */
  #postToSession(
    res: ServerResponse,
    inbound: Inbound,
    context: RequestContext,
  ): void | Promise<void> {
    const { headers } = res.req
    const types = ['application/json', 'text/event-stream']
    if (!types.every(type => accepts(headers.accept, type))) {
      const message = 'Accept must allow both application/json and text/event-stream'
      throw new Refusal(406, message, { code: rpcCodes.refused })
    }
    if (inbound.kind === 'invalid') {
      throw new Refusal(400, inbound.problem, { code: inbound.code })
    }
    const isInitialize = inbound.kind === 'request' && inbound.method === 'initialize'
    if (isInitialize && headers['mcp-session-id'] === undefined) {
      return this.#initialize(res, inbound, context)
    }
    const session = this.#sessions.find(headers, context.principal)
    if (isInitialize) {
      const message = 'this session is initialised already; start a new one without its header'
      throw new Refusal(400, message, { code: rpcCodes.invalidRequest })
    }
    if (inbound.kind === 'batch') {
      return this.#answerBatch(
        res,
        parseBatch(inbound.elements, session.revision),
        session,
        context,
      )
    }
    if (inbound.kind === 'request') {
      recordCall(context, inbound)
      return this.#answer(inbound, { res, context, session })
    }
    session.apply(inbound)
    res.writeHead(202).end()
  }

  #initialize(res: ServerResponse, { id, params }: RequestMessage, context: RequestContext) {
    context.rpc = 'initialize'
    const revision = negotiate(params)
    if (!revision.ok) {
      const error = { code: rpcCodes.invalidParams, message: revision.failure }
      return sendJson(res, 200, errorMessage(id, error))
    }
    const session = this.#sessions.create(revision.value, context.principal, params.clientInfo)
    if (session === null) {
      const message = 'every session of this server is in use; try again later'
      const headers = { 'Retry-After': '30' }
      throw new Refusal(503, message, { code: rpcCodes.refused, headers })
    }
    const result = this.#initializeResults.get(revision.value)!
    return sendJson(res, 200, resultMessage(id, result), { 'Mcp-Session-Id': session.id })
  }

  /**
   * Answers a batch with one JSON array, written as the answers come: a hundred large reads are never
   * held together. Without a request in it there is nothing to answer: 202.
   */
  async #answerBatch(
    res: ServerResponse,
    messages: readonly Message[],
    session: Session,
    context: RequestContext,
  ): Promise<void> {
    context.rpc = `batch of ${messages.length}`
    for (const message of messages) session.apply(message)
    const asked = messages.filter(({ kind }) => kind === 'request' || kind === 'invalid')
    if (asked.length === 0) return void res.writeHead(202).end()
    const parts = { res, context, session, isBatched: true }
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
    return Promise.race([this.#dispatch(message, call), cancelled])
  }

  /** Revision 2026-07-28: every POST stands for itself. No session is made, asked for or named. */
  #postStateless(
    res: ServerResponse,
    message: Inbound,
    context: RequestContext,
  ): void | Promise<void> {
    if ('method' in message) recordCall(context, message)
    const id = message.kind === 'request' ? message.id : undefined
    const problem = envelopeProblem(res.req.headers, message)
    if (problem !== null) return sendJson(res, 400, errorMessage(id, problem))
    // No notification asks for anything: a client ends a stream by closing it.
    if (message.kind !== 'request') return void res.writeHead(202).end()
    if (this.#method(message.method, 'stateless') === undefined) {
      return sendJson(res, 404, errorMessage(id, methodNotFound))
    }
    // A stream names its resources in its filter: a `uri` beside it would be kept while it is open.
    if (message.method === 'subscriptions/listen') context.uri = undefined
    const client = this.#parts.clients?.ofRequest(message.params, context.principal)
    return this.#answer(message, { res, context, client })
  }

  #answer(message: RequestMessage, parts: CallParts): Promise<void> {
    const call = new Call(message, parts)
    // Closing the connection does not cancel a request of a session ("Cancellation").
    if (call.session === null) {
      call.res.once('close', () => {
        if (!call.res.writableFinished) call.cancel()
      })
    }
    // Nothing here holds the params, which may be large, while the call waits.
    return this.#dispatch(message, call).then(answer => {
      if (answer !== null && !call.isCancelled) return sendAnswer(call.res, answer)
    })
  }

  #method(name: string, transport: 'session' | 'stateless') {
    const method = this.#methods.get(name)
    return method?.in === 'both' || method?.in === transport ? method : undefined
  }

  /** Returns the answer; null after a cancellation, or when the response is a stream. */
  #dispatch(message: RequestMessage, call: Call): Promise<JsonText | null> {
    const { method: name, params } = message
    const method = this.#method(name, call.session === null ? 'stateless' : 'session')
    if (method === undefined) return Promise.resolve(errorMessage(call.id, methodNotFound))
    const uri = this.#parts.registry.own(params.uri)
    const asked = uri === params.uri ? message : { ...message, params: { ...params, uri } }
    const succeeded = call.client && this.#parts.clients?.began(call.client, asked, call.res)
    const running = Promise.try(() => method.run(params, call))
    const opening = call.session === null ? resultOpening(method.freshMs?.(params)) : ''
    return this.#settled(call, running, opening, succeeded)
  }

  /** Holds no params either. */
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
      // HTTP has an answer of its own to a whole request.
      if (isWriteRefusal(error) && !call.isBatched) throw error
      // A failed read is logged where it failed; a client error needs no log entry.
      if (!(error instanceof ServiceError) || error.code === 'internal') {
        this.#parts.log.error({ err: error, rpc: call.method }, 'a request failed')
      }
      const transport = call.session === null ? 'stateless' : 'session'
      return errorMessage(call.id, toRpcError(error, transport))
    } finally {
      call.session?.remove(call)
      this.#pendingCalls--
    }
  }

  async #deleteSession(res: ServerResponse, context: RequestContext): Promise<void> {
    await this.#sessions.delete(this.#sessions.find(res.req.headers, context.principal))
    res.writeHead(204).end()
  }

  #openStream(res: ServerResponse, context: RequestContext): void {
    const { headers } = res.req
    if (!accepts(headers.accept, 'text/event-stream')) {
      throw new Refusal(406, 'Accept must allow text/event-stream', { code: rpcCodes.refused })
    }
    const session = this.#sessions.find(headers, context.principal)
    const stream = new EventStream(res, sessionEncoder, this.#parts.limits)
    stream.open()
    this.#sessions.attach(session, stream)
    if (session.client !== undefined) this.#parts.clients?.opened(session.client, res)
    res.on('close', () => {
      if (session.stream !== stream) return
      session.stream = null
      this.#sessions.touch(session)
    })
  }
}

/** The activity for `/metrics`. */
export function activityGauges(activity: EndpointActivity): readonly Gauge[] {
  const gauge = (name: string, help: string, value: number): Gauge => {
    return { name: `service_cli_${name}`, help, samples: [['', value]] }
  }
  return [
    gauge('sessions', 'Open MCP sessions.', activity.sessions),
    gauge('streams', 'Open event streams.', activity.streams),
    gauge('subscriptions', 'Subscriptions of all clients.', activity.subscriptions),
    gauge('pending_calls', 'Calls that are not answered yet.', activity.pendingCalls),
  ]
}
