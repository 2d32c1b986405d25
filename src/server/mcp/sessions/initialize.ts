import { isJsonObject, type JsonObject } from '../../../lib/util/json.ts'
import { type Result, fail, ok } from '../../../lib/util/result.ts'
import type { ServerIdentity } from '../identity.ts'
import { type SessionRevision, negotiate } from './revisions.ts'

/** The revision to speak, from the params of `initialize`. */
export function parseInitialize(params: JsonObject): Result<SessionRevision, string> {
  const { protocolVersion, capabilities = {}, clientInfo = {} } = params
  if (typeof protocolVersion !== 'string') return fail('"protocolVersion" must be a string')
  if (!isJsonObject(capabilities)) return fail('"capabilities" must be an object')
  if (!isJsonObject(clientInfo)) return fail('"clientInfo" must be an object')
  return ok(negotiate(protocolVersion))
}

/** InitializeResult. A capability appears only where the revision defines it. */
export function initializeResult(
  revision: SessionRevision,
  server: ServerIdentity,
  resourcesEnabled: boolean,
): object {
  const { name, title, version, instructions } = server
  return {
    protocolVersion: revision,
    capabilities: resourcesEnabled
      ? {
          resources: { subscribe: true, listChanged: true },
          ...(revision >= '2025-03-26' ? { completions: {} } : {}),
        }
      : {},
    serverInfo: revision >= '2025-06-18' ? { name, title, version } : { name, version },
    ...(resourcesEnabled ? { instructions } : {}),
  }
}
