import { isJsonObject, type JsonObject, parseJson } from '../../../lib/util/json.ts'
import { ServiceError } from '../../../lib/util/errors.ts'
import { cleanText } from '../../../lib/util/text.ts'
import { jsonRpcCodes } from '../../../lib/mcp/json-rpc.ts'
import { ResourceNotFound, ResourceUriInvalid } from '../../resources/errors.ts'

const notFoundCode = -32002
const maxChars = 500

/** An error that the instance answered, for the reader of `outer` at the gateway. */
export function answeredError(error: unknown, outer: string): ServiceError {
  if (!isJsonObject(error) || typeof error.message !== 'string') {
    return badAnswer('its error has no form')
  }
  const { code, message, data } = error
  const said = cleanText(message, maxChars)
  const more = isJsonObject(data) ? data : {}
  const hint = typeof more.hint === 'string' ? cleanText(more.hint, maxChars) : undefined
  const isNamed = typeof more.uri === 'string'
  if (code === notFoundCode || (code === jsonRpcCodes.invalidParams && isNamed)) {
    const gone = new ResourceNotFound(outer)
    gone.message += `; the instance says: ${said}`
    return gone
  }
  if (code === jsonRpcCodes.invalidParams) {
    return new ResourceUriInvalid(`the instance says: ${said}`, { hint, data: { uri: outer } })
  }
  const reason = typeof more.reason === 'string' ? cleanText(more.reason, 80) : 'instance_failed'
  return failed(`the instance says: ${said}`, reason, hint)
}

/** The refusal of an answer with another status than 200; of its body the start is enough. */
export function refusedError(status: number, body: Buffer, outer: string): ServiceError {
  const error = errorIn(body)
  if (isJsonObject(error)) return answeredError(error, outer)
  if (status === 401) {
    return failed(
      'the instance asks for a key (HTTP 401)',
      'instance_auth',
      'give the gateway a key for its clients: only then it opens instances that ask for one; an instance started with SERVICE_HOST_TOKEN or --host-token-file stays closed',
    )
  }
  if (status === 421)
    return failed('another program has the address of the instance', 'instance_gone')
  return failed(`the instance answers with HTTP ${status}`, 'instance_refused')
}

export function isUnreachable(error: unknown): error is ServiceError {
  return error instanceof ServiceError && error.data?.['reason'] === 'instance_unreachable'
}

export function unreachable(why: string): ServiceError {
  return failed(
    `the instance cannot be reached: ${why}`,
    'instance_unreachable',
    'gateway://instances tells its state',
  )
}

export function badAnswer(problem: string): ServiceError {
  return failed(`the answer of the instance is unusable: ${problem}`, 'instance_answer_invalid')
}

function failed(message: string, reason: string, hint?: string): ServiceError {
  return new ServiceError('resource_failed', message, { hint, data: { reason } })
}

/** The member `error` of a JSON-RPC answer; undefined: it has no error. */
export function errorIn(bytes: Buffer): JsonObject | undefined {
  const parsed = parseJson(bytes.toString(), 64)
  if (!parsed.ok || !isJsonObject(parsed.value)) return undefined
  const { error } = parsed.value
  return isJsonObject(error) ? error : undefined
}
