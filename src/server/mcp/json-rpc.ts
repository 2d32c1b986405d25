import { isUtf8 } from 'node:buffer'
import { type JsonObject, isJsonObject, maxJsonDepth, parseJson } from '../../lib/util/json.ts'
import { jsonFault } from '../../lib/util/json-fault.ts'
import { type RequestId, idProblem, isRequestId } from '../../lib/mcp/json-rpc.ts'
import { Refusal, rpcCodes } from './errors.ts'

const maxBatchMessages = 100

/** What a POST, or one element of a batch, turned out to be. */
export type Message =
  | { kind: 'request'; id: RequestId; method: string; params: JsonObject }
  | { kind: 'notification'; method: string; params: JsonObject }
  | { kind: 'response' }
  | { kind: 'invalid'; id: RequestId | null; code: number; problem: string }

/** The body of a POST: one message, or the elements of a batch as they came. */
export type Inbound = Message | { kind: 'batch'; elements: readonly unknown[] }

export type RequestMessage = Message & { kind: 'request' }
export type NotificationMessage = Message & { kind: 'notification' }

/** Parses a body. Invalid JSON, or JSON nested too deep, is an invalid message. */
export function parseBody(body: Buffer): Inbound {
  // Replacement characters would change what was asked for.
  if (!isUtf8(body)) return noJson('the body is not valid UTF-8')
  const text = body.toString('utf8')
  const parsed = parseJson(text, maxJsonDepth)
  if (parsed.ok) {
    const { value } = parsed
    return Array.isArray(value) ? { kind: 'batch', elements: value } : parseMessage(value)
  }
  if (parsed.failure === 'syntax') return noJson(`the body is not valid JSON: ${jsonFault(text)}`)
  return invalid(null, `the body nests more than ${maxJsonDepth} levels deep`)
}

/** The messages of a batch. Throws `Refusal` where the revision of the session has none. */
export function parseBatch(values: readonly unknown[], revision: string): Message[] {
  const code = rpcCodes.invalidRequest
  // 2025-06-18 removed them again.
  if (revision !== '2025-03-26') {
    const message = `revision ${revision} has no batches: send one message per request`
    throw new Refusal(400, message, { code })
  }
  if (values.length === 0 || values.length > maxBatchMessages) {
    throw new Refusal(400, `a batch must hold 1 to ${maxBatchMessages} messages`, { code })
  }
  const messages = values.map(parseMessage)
  if (messages.some(message => 'method' in message && message.method === 'initialize')) {
    throw new Refusal(400, 'initialize must not be part of a batch', { code })
  }
  return messages
}

const noParams: JsonObject = Object.freeze({})

/** Sorts one parsed JSON value. Every member is checked, none is trusted. */
export function parseMessage(value: unknown): Message {
  if (!isJsonObject(value)) return invalid(null, 'a message must be a JSON object')
  const { id, method } = value
  const params = isAbsent(value.params) ? noParams : value.params
  const known = isRequestId(id) ? id : null
  if (value.jsonrpc !== '2.0') return invalid(known, 'member "jsonrpc" must be "2.0"')
  // The server sends no requests, so no call waits for a response.
  if (method === undefined && ('result' in value || 'error' in value)) return { kind: 'response' }
  if (typeof method !== 'string') return invalid(known, 'member "method" must be a string')
  if (!isJsonObject(params)) return invalid(known, 'member "params" must be an object')
  if (!('id' in value)) return { kind: 'notification', method, params }
  if (known === null) return invalid(null, idProblem)
  return { kind: 'request', id: known, method, params }
}

/** Clients without params also send null or an empty array. */
function isAbsent(params: unknown): boolean {
  return params === undefined || params === null || (Array.isArray(params) && params.length === 0)
}

function invalid(id: RequestId | null, problem: string): Message {
  return { kind: 'invalid', id, code: rpcCodes.invalidRequest, problem }
}

function noJson(problem: string): Message {
  return { kind: 'invalid', id: null, code: rpcCodes.parseError, problem }
}

/** The resource that the call is about, or the resources that a tool waits for. */
export function uriOf(method: string, { uri, arguments: args }: JsonObject): unknown {
  if (method !== 'tools/call') return uri
  if (!isJsonObject(args)) return undefined
  const { uris } = args
  const isText = (value: unknown) => typeof value === 'string'
  return args.uri ?? (Array.isArray(uris) ? uris.filter(isText).join(' ') : undefined)
}
