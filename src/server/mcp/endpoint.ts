import type { McpLimits } from './limits.ts'
import { maxJsonDepth } from '../../lib/util/json.ts'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { setImmediate } from 'node:timers/promises'
import { type Clock, systemTimer } from '../../lib/util/time.ts'
import type { Logger } from '../../lib/util/logger.ts'
import { version } from '../../lib/util/version.ts'
import { readBody, maxBodyMs } from '../http/body.ts'
import { isJsonType, isUncoded } from '../http/media.ts'
import { awaitTurn } from '../http/open-answers.ts'
import type { Gauge } from '../http/metrics.ts'
import type { ServedResources } from '../resources/served-resources.ts'
import { classify } from './classify-request.ts'
import type { ClientTable } from './client-table.ts'
import { GatheredWrites, sendJson, sendRefusal } from './send.ts'
import { UnsentAnswerBudget } from './unsent-answer-budget.ts'
import type { RequestContext } from './request-context.ts'
import { isAnswered, parseBody } from './json-rpc.ts'
import { errorMessage } from './json-text.ts'
import { KeepAlive } from './keep-alive.ts'
import { SessionEndpoint } from './sessions/endpoint.ts'
import { createSessionMethods } from './sessions/methods.ts'
import { Sessions } from './sessions/sessions.ts'
import { StatelessEndpoint } from './stateless/endpoint.ts'
import { ListenStreams } from './stateless/listen.ts'
import { createStatelessMethods, type ListenMethod } from './stateless/methods.ts'
import { createResultOpenings } from './stateless/meta.ts'
import { createResourceMethods, type ResourceMethods } from './resource-methods.ts'
import { refusalMessage } from './refusal.ts'
import { SubscriptionHub } from './subscriptions.ts'
import type { ToolBox, ToolParts } from './tools/tools.ts'
import { createToolMethods, type ToolMethods } from './tools/tool-methods.ts'

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
  /** Absent: no tools. Without resources there are none either. */
  tools?: (parts: ToolParts) => ToolBox
  /** How a model finds its way about what is served. */
  instructions: string
  limits: McpLimits
  clock: Clock
  log: Logger
}

/**
 * `/mcp`: reads a POST, chooses the transport that answers it, and connects both to the resources.
 */
export function createMcpEndpoint(parts: McpEndpointParts): McpEndpoint {
  const { registry, resourcesEnabled, clients, instructions, limits, clock, log } = parts
  const identity = { name: 'service-cli', title: 'service-cli', version, instructions }
  const hub = new SubscriptionHub(limits, (uri, isFollowed) => registry.followed(uri, isFollowed))
  const keepAlive = new KeepAlive(limits)
  const held = new UnsentAnswerBudget(limits.maxHeldAnswerBytes)
  const gathered = new GatheredWrites()
  const sessions = new Sessions({ hub, clients, clock, limits })
  const streams = new ListenStreams({ registry, hub, keepAlive, gathered, identity, clock, limits })
  const openings = createResultOpenings(identity)
  const pending = new PendingCalls()
  const toolParts = { hub, clock, timer: systemTimer, limits }

  const toolBox = (resourcesEnabled && parts.tools?.({ ...toolParts, registry })) || null
  const tools = toolBox && pending.ofTools(createToolMethods(toolBox.tools, log))
  const resources = resourcesEnabled ? pending.of(createResourceMethods(registry)) : null
  const listen: ListenMethod = (res, request, reader) => streams.listen(res, request, reader)
  const session = new SessionEndpoint({
    ...parts,
    identity,
    toolsEnabled: tools !== null,
    extensions: toolBox?.extensions,
    rules: { registry, resourcesEnabled },
    sessions,
    keepAlive,
    held,
    gathered,
    methods: createSessionMethods(resources && { registry, hub, resources, tools }),
  })
  const stateless = new StatelessEndpoint({
    rules: { registry, resourcesEnabled },
    methods: createStatelessMethods({
      identity,
      openings,
      tools,
      extensions: toolBox?.extensions,
      resources: resources && { methods: resources, listen },
    }),
    clients,
    held,
    log,
  })
  const detach = registry.listen(hub)
  const bodyLimits = {
    maxBytes: limits.maxRequestBytes,
    timeoutMs: limits.bodyTimeoutMs,
    maxMs: maxBodyMs,
  }

  async function post(
    req: IncomingMessage,
    res: ServerResponse,
    context: RequestContext,
  ): Promise<void> {
    const body = await readBody(req, bodyLimits)
    if (!isJsonType(req.headers['content-type'])) {
      const message = 'Content-Type must be application/json'
      return sendJson(res, 415, refusalMessage(req.headers, 415, message))
    }
    if (!isUncoded(req.headers['content-encoding'])) {
      const message = 'a body with a Content-Encoding is not taken: send it uncompressed'
      const takes = { 'Accept-Encoding': 'identity' }
      return sendJson(res, 415, refusalMessage(req.headers, 415, message), takes)
    }
    const inbound = parseBody(body, maxJsonDepth)
    // A client may send many requests at once and read no answer: each waits until its answer can be
    // sent, and lets other connections go first.
    if (res.socket === null && isAnswered(inbound)) {
      if (!(await awaitTurn(res))) return
      await setImmediate()
    }
    const classified = classify(req.headers, inbound)
    switch (classified.transport) {
      case 'session':
        return session.post(req, res, inbound, context)
      case 'stateless':
        return stateless.post(req, res, classified.message, context)
      case 'none':
        return sendJson(res, 400, errorMessage(classified.id, classified.error))
    }
  }

  function endWaits(): void {
    toolBox?.close()
  }

  return {
    handle(req, res, context) {
      switch (req.method) {
        case 'POST':
          return post(req, res, context)
        case 'GET':
          return session.get(req, res, context)
        case 'DELETE':
          return session.delete(req, res, context)
        default: {
          const answer = refusalMessage(req.headers, 405, 'method not allowed')
          const allow = { Allow: 'GET, POST, DELETE' }
          return sendRefusal(res, 405, answer, allow, limits.refusedBodyDrainMs)
        }
      }
    },
    activity: () => ({
      pendingCalls: pending.count,
      tools: tools?.count ?? 0,
      sessions: sessions.size,
      streams: keepAlive.size,
      subscriptions: hub.size.subscriptions,
      subscribers: hub.size.subscribers,
    }),
    endWaits,
    close() {
      detach()
      endWaits()
      keepAlive.stop()
      sessions.close()
      streams.close()
    },
  }
}

/** What goes on at an endpoint at this moment. */
export interface EndpointActivity {
  /** Reads, listings, completions and tool calls that are not answered yet. */
  readonly pendingCalls: number
  /** Tools that the endpoint offers. */
  readonly tools: number
  readonly sessions: number
  /** Streams open for notifications, of any revision. */
  readonly streams: number
  readonly subscriptions: number
  /** Sessions and listen streams with at least one subscription. */
  readonly subscribers: number
}

/** The activity for `/metrics`. */
export function activityGauges(activity: EndpointActivity): readonly Gauge[] {
  const gauge = (name: string, help: string, value: number) => ({
    name: `service_cli_${name}`,
    help,
    values: [{ value }],
  })
  return [
    gauge('sessions', 'Open MCP sessions.', activity.sessions),
    gauge('streams', 'Open event streams.', activity.streams),
    gauge('subscriptions', 'Subscriptions of all clients.', activity.subscriptions),
    gauge('pending_calls', 'Calls that are not answered yet.', activity.pendingCalls),
  ]
}

/** The same methods, counting the calls whose answers take time. */
class PendingCalls {
  #count = 0

  get count(): number {
    return this.#count
  }

  of(methods: ResourceMethods): ResourceMethods {
    return {
      list: (...asked) => this.#counted(methods.list(...asked)),
      listTemplates: params => this.#counted(methods.listTemplates(params)),
      read: (...asked) => this.#counted(methods.read(...asked)),
      complete: params => this.#counted(methods.complete(params)),
    }
  }

  ofTools(methods: ToolMethods): ToolMethods {
    return { ...methods, call: (params, caller) => this.#counted(methods.call(params, caller)) }
  }

  #counted<Answer>(answer: Answer | Promise<Answer>): Answer | Promise<Answer> {
    if (!(answer instanceof Promise)) return answer
    this.#count++
    return answer.finally(() => void this.#count--)
  }
}
