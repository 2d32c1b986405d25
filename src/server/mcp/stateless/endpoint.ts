import type { IncomingMessage, ServerResponse } from 'node:http'
import { ServiceError } from '../../../lib/util/errors.ts'
import type { Logger } from '../../../lib/util/logger.ts'
import type { Reader } from '../../resources/producer.ts'
import type { RequestId, RpcError } from '../../../lib/mcp/json-rpc.ts'
import { rpcCodes } from '../errors.ts'
import { failedRequest } from '../failed-request.ts'
import type { UnsentAnswerBudget } from '../unsent-answer-budget.ts'
import type { NotificationMessage, RequestMessage } from '../json-rpc.ts'
import { errorMessage, type JsonText, resultMessage, type ResultOpening } from '../json-text.ts'
import {
  assertAllowed,
  isReadOnly,
  recordCall,
  type RequestContext,
  type WriteRules,
} from '../request-context.ts'
import { sendAnswer, sendJson } from '../send.ts'
import { progressOf } from '../progress.ts'
import type { Caller } from '../tools/tool.ts'
import { statelessCodes } from './meta.ts'
import type { Activity } from '../client.ts'
import type { ClientTable } from '../client-table.ts'
import { checkNotification, checkRequest } from './envelope.ts'
import type { AnsweredMethod, MethodTable, StreamedMethod } from './methods.ts'

interface StatelessEndpointParts {
  methods: MethodTable
  clients: ClientTable | undefined
  rules: WriteRules
  held: UnsentAnswerBudget
  log: Logger
}

const methodNotFound: RpcError = { code: rpcCodes.methodNotFound, message: 'method not found' }

/** Revision 2026-07-28: every POST stands for itself. No session is made, asked for or named. */
export class StatelessEndpoint {
  readonly #parts: StatelessEndpointParts

  constructor(parts: StatelessEndpointParts) {
    this.#parts = parts
  }

  post(
    req: IncomingMessage,
    res: ServerResponse,
    message: RequestMessage | NotificationMessage,
    context: RequestContext,
  ): void | Promise<void> {
    recordCall(context, message)
    if (message.kind === 'notification') {
      const check = checkNotification(req.headers, message)
      if (!check.ok) return sendJson(res, 400, errorMessage(undefined, check.failure))
      // The transport has none that asks for anything: a client ends a stream by closing it.
      res.writeHead(202).end()
      return
    }
    const check = checkRequest(req.headers, message)
    if (!check.ok) return sendJson(res, 400, errorMessage(message.id, check.failure))
    const method = this.#parts.methods.get(message.method)
    if (method === undefined) return sendJson(res, 404, errorMessage(message.id, methodNotFound))
    assertAllowed(message, context, this.#parts.rules)
    const client = this.#parts.clients?.ofRequest(message.params, context.principal)
    const activity = client?.begin(message) ?? null
    const reader = new ResponseReader(res, isReadOnly(context))
    if (method.kind === 'stream') {
      // A stream names its resources in its filter: a `uri` beside it would be kept while it is open.
      context.uri = undefined
      return this.#stream(method, res, message, reader, activity).then(refused => {
        if (refused !== null) return sendJson(res, 200, refused)
        activity?.end(true)
        client?.opened(res)
      })
    }
    const answer = this.#run(method, message, activity, {
      reader,
      principal: context.principal,
      clientName: client?.name,
      mayAnswer: context.mayAnswer,
      progress: progressOf(req, res, message),
    })
    const { held } = this.#parts
    const { id } = message
    return answer instanceof Promise
      ? answer.then(text => sendAnswer(res, held, id, text))
      : sendAnswer(res, held, id, answer)
  }

  /** A call may wait for long: its closures hold no params, which may be large. */
  #run(
    method: AnsweredMethod,
    { params, ...call }: RequestMessage,
    activity: Activity | null,
    caller: Caller,
  ): JsonText | Promise<JsonText> {
    try {
      const members = method.run(params, caller)
      const opening = method.opening(params)
      if (!(members instanceof Promise)) return answered(call.id, members, opening, activity)
      return members.then(
        text => answered(call.id, text, opening, activity),
        (error: unknown) => this.#failed(call, activity, error),
      )
    } catch (error) {
      return this.#failed(call, activity, error)
    }
  }

  /** Null: the stream is open. */
  async #stream(
    { open }: StreamedMethod,
    res: ServerResponse,
    request: RequestMessage,
    reader: Reader,
    activity: Activity | null,
  ): Promise<JsonText | null> {
    const { id, method } = request
    try {
      await open(res, request, reader)
      return null
    } catch (error) {
      return this.#failed({ id, method }, activity, error)
    }
  }

  #failed(
    request: Pick<RequestMessage, 'id' | 'method'>,
    activity: Activity | null,
    error: unknown,
  ): JsonText {
    activity?.end(false)
    return failedRequest(request, error, { codes: statelessCodes, log: this.#parts.log })
  }
}

function answered(
  id: RequestId,
  text: JsonText,
  opening: ResultOpening,
  activity: Activity | null,
): JsonText {
  activity?.end(!text.isFailure)
  return resultMessage(id, text, opening)
}

/**
 * The client of one request of 2026-07-28, where closing the connection cancels the request
 * ("Cancellation"). In the session transport it does not ("Streamable HTTP"): its reader says so.
 */
class ResponseReader implements Reader {
  readonly isReadOnly: boolean
  readonly #res: ServerResponse
  #signal: AbortSignal | undefined

  constructor(res: ServerResponse, isReadOnly: boolean) {
    this.#res = res
    this.isReadOnly = isReadOnly
  }

  /** Made when it is first asked for: most requests end before. */
  get signal(): AbortSignal {
    if (this.#signal !== undefined) return this.#signal
    const left = new AbortController()
    const leave = () => left.abort(new ServiceError('cancelled', 'the caller has left'))
    if (this.#res.destroyed) leave()
    else this.#res.once('close', leave)
    return (this.#signal = left.signal)
  }
}
