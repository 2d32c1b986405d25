import type { JsonObject } from '../../util/json.ts'
import { version } from '../../util/version.ts'
import { metaKeys } from '../request-metadata.ts'

export { statelessHeaders } from './call.ts'
export { askOnce, type RpcAnswer } from './exchange.ts'

/** The params of an own request of 2026-07-28, which needs no session. */
export function withMeta(params: JsonObject): JsonObject {
  const _meta = {
    [metaKeys.protocolVersion]: '2026-07-28',
    [metaKeys.clientInfo]: { name: 'service-cli', version },
    [metaKeys.clientCapabilities]: {},
  }
  return { ...params, _meta }
}
