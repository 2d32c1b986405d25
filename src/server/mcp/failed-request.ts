import { ServiceError } from '../../lib/util/errors.ts'
import type { Logger } from '../../lib/util/logger.ts'
import { type RpcCodeTable, toRpcError } from './errors.ts'
import type { RequestMessage } from './json-rpc.ts'
import { errorMessage, type JsonText } from './json-text.ts'

/** What a method threw, as the answer to its request. */
export function failedRequest(
  { id, method }: Pick<RequestMessage, 'id' | 'method'>,
  error: unknown,
  { codes, log }: { codes: RpcCodeTable; log: Logger },
): JsonText {
  // A failed read is logged where it failed; a client error needs no log entry.
  if (!(error instanceof ServiceError) || error.code === 'internal') {
    log.error({ err: error, rpc: method }, 'a request failed')
  }
  return errorMessage(id, toRpcError(error, codes))
}
