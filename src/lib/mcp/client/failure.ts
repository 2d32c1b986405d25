import { cleanText } from '../../util/text.ts'
import { ServiceError } from '../../util/errors.ts'
import { jsonRpcCodes, type RpcError } from '../json-rpc.ts'
import type { Refused } from '../bridge/exchange.ts'
import { shownUrl } from '../bridge/context.ts'
import { keyHint, keyRefusal, refusalError } from '../bridge/bridge-errors.ts'
import type { Failed } from './ask.ts'

interface FailureFacts {
  readonly url: URL
  readonly method: string
  /** The URI of the request, if any. */
  readonly uri?: string
  readonly keyed: boolean
  readonly maxAnswerBytes: number
}

/** "Resource not found" in the session transport. */
const notFoundCode = -32002

/** Translates any outcome but a result into the error of the command. */
export function failureOf(answer: Failed, facts: FailureFacts): ServiceError {
  const where = shownUrl(facts.url)
  switch (answer.kind) {
    case 'error':
      return rpcFailure(answer.error, facts)
    case 'refused':
      return httpFailure(answer, facts)
    case 'broken':
      return new ServiceError('network_failed', `${where} cannot be reached: ${answer.reason}`, {
        hint: 'service-cli instances shows what runs here',
      })
    case 'oversize':
      return new ServiceError(
        'artefact_too_large',
        `the answer of ${where} is larger than ${facts.maxAnswerBytes} bytes`,
        { hint: 'an artefact of any size: service-cli artefacts get URI' },
      )
    case 'missing':
      return new ServiceError(
        'resource_failed',
        `${where} ended its answer to ${facts.method} without a message`,
      )
    case 'aborted':
      return new ServiceError('cancelled', 'cancelled')
  }
}

/** The server answered `what`, a URI or a path, with something else than this program expects. */
export function unexpectedAnswer(url: URL, what: string): ServiceError {
  const message = `the answer of ${shownUrl(url)} to ${what} is not of the expected form`
  return new ServiceError('resource_failed', message, {
    hint: 'it may be another program, or another version of service-cli',
  })
}

function rpcFailure({ code, message, data }: RpcError, facts: FailureFacts): ServiceError {
  const { method, uri } = facts
  const said = cleanText(message, 300)
  // Servers of this project send a hint.
  const hint = typeof data?.hint === 'string' ? cleanText(data.hint, 300) : undefined
  const named = uri !== undefined && typeof data?.uri === 'string'
  if (
    uri !== undefined &&
    (code === notFoundCode || (code === jsonRpcCodes.invalidParams && named))
  )
    return notFound(cleanText(uri, 300), said, hint)
  if (code === jsonRpcCodes.methodNotFound) {
    return new ServiceError('request_refused', `the server does not know ${method}`, {
      hint: 'it may offer only tools, or run with --no-resources',
    })
  }
  if (code === jsonRpcCodes.internalError) {
    const reason = typeof data?.reason === 'string' ? ` (${cleanText(data.reason, 80)})` : ''
    return new ServiceError('resource_failed', `the server failed: ${said}${reason}`, { hint })
  }
  return new ServiceError('request_refused', `the server refuses ${method}: ${said}`, { hint })
}

/** With what the server says beside that: what became of the resource, or where to look. */
function notFound(uri: string, said: string, hint: string | undefined): ServiceError {
  const generic = /^(?:no resource at|resource not (found|enabled):?)\s*/i
  const [begin = '', state = 'found'] = generic.exec(said) ?? []
  const rest = said.slice(begin.length)
  const more = (rest.startsWith(uri) ? rest.slice(uri.length) : rest).replace(/^[;:,.]?\s*/, '')
  const message = `resource ${uri} not ${state}${more === '' ? '' : `: ${more}`}`
  return new ServiceError('resource_not_found', message, { hint })
}

function httpFailure(refused: Refused, { url, keyed }: FailureFacts): ServiceError {
  const { status, headers } = refused
  if (status === 401) {
    const { code, clause } = keyRefusal(refused, keyed)
    return new ServiceError(code, `${shownUrl(url)} ${clause}`, { hint: keyHint })
  }
  if (status === 429) {
    const after = headers['retry-after']
    const hint = after === undefined ? undefined : `try again in ${cleanText(after, 20)} s`
    return new ServiceError('rate_limited', `${shownUrl(url)} is busy (HTTP 429)`, { hint })
  }
  const message = cleanText(refusalError(refused, { url, name: null }, keyed).message, 1000)
  return new ServiceError(status >= 500 ? 'network_failed' : 'request_refused', message)
}
