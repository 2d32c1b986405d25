import { rpcErrorIn } from '../../../lib/mcp/client/failure.ts'
import { jsonRpcCodes, type RpcError } from '../../../lib/mcp/json-rpc.ts'
import { ServiceError } from '../../../lib/util/errors.ts'
import { cleanText } from '../../../lib/util/text.ts'
import { ResourceNotFound, ResourceUriInvalid } from '../../resources/errors.ts'

const notFoundCode = -32002

/** The error of an answer that has no result, for the reader of `uri` at the gateway. */
export function answerError(status: number, body: Buffer, uri: string): ServiceError {
  const error = rpcErrorIn(body)
  if (error !== null) return instanceError(error, uri)
  switch (status) {
    case 200:
      return badAnswer('it has neither a result nor an error')
    case 401:
      return failed(
        'the instance asks for a key (HTTP 401)',
        'instance_auth',
        'give the gateway a key for its clients: only then it opens instances that ask for one; an instance started with SERVICE_HOST_TOKEN or --host-token-file stays closed',
      )
    case 421:
      return failed('another program has the address of the instance', 'instance_gone')
    default:
      return failed(`the instance answers with HTTP ${status}`, 'instance_refused')
  }
}

function instanceError({ code, message, data = {} }: RpcError, uri: string): ServiceError {
  const text = `the instance says: ${cleanText(message)}`
  const hint = typeof data.hint === 'string' ? cleanText(data.hint) : undefined
  const isOfParams = code === jsonRpcCodes.invalidParams
  if (code === notFoundCode || (isOfParams && typeof data.uri === 'string')) {
    const gone = new ResourceNotFound(uri)
    gone.message += `; ${text}`
    return gone
  }
  if (isOfParams) return new ResourceUriInvalid(text, { hint, data: { uri } })
  const reason = typeof data.reason === 'string' ? cleanText(data.reason, 80) : 'instance_failed'
  return failed(text, reason, hint)
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
