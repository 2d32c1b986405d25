import { isJsonObject, type JsonObject } from '../../../lib/util/json.ts'
import { fail, ok, type Result } from '../../../lib/util/result.ts'
import type { ServerIdentity } from '../request-context.ts'
import { rpcCodes, type RpcCodeTable } from '../errors.ts'
import { JsonText } from '../json-text.ts'

/** The revision to speak, from the params of `initialize`. */
export function parseInitialize(params: JsonObject): Result<SessionRevision, string> {
  const { protocolVersion, capabilities = {}, clientInfo = {} } = params
  if (typeof protocolVersion !== 'string') return fail('"protocolVersion" must be a string')
  if (!isJsonObject(capabilities)) return fail('"capabilities" must be an object')
  if (!isJsonObject(clientInfo)) return fail('"clientInfo" must be an object')
  return ok(negotiate(protocolVersion))
}

/** What an endpoint offers. */
interface Served {
  readonly resourcesEnabled: boolean
  /** Never without resources. */
  readonly toolsEnabled: boolean
  readonly extensions?: JsonObject
}

/** The answer to `initialize`, serialised once for each revision. */
export function createInitializeResults(
  server: ServerIdentity,
  served: Served,
): (revision: SessionRevision) => JsonText {
  const texts = new Map<SessionRevision, JsonText>()
  return revision => {
    const text =
      texts.get(revision) ?? JsonText.membersOf(initializeResult(revision, server, served))
    texts.set(revision, text)
    return text
  }
}

/** InitializeResult. A capability appears only where the revision defines it. */
function initializeResult(
  revision: SessionRevision,
  server: ServerIdentity,
  { resourcesEnabled, toolsEnabled, extensions }: Served,
): object {
  const { name, title, version, instructions } = server
  return {
    protocolVersion: revision,
    capabilities: resourcesEnabled
      ? {
          resources: { subscribe: true, listChanged: true },
          ...(revision >= '2025-03-26' ? { completions: {} } : {}),
          ...(toolsEnabled ? { tools: {} } : {}),
          // An unknown member to clients that do not know extensions.
          ...(extensions && { extensions }),
        }
      : {},
    serverInfo: revision >= '2025-06-18' ? { name, title, version } : { name, version },
    ...(resourcesEnabled ? { instructions } : {}),
  }
}

/** The revisions of the session transport, newest first. Dates, so they compare as strings. */
export const sessionRevisions = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const

export type SessionRevision = (typeof sessionRevisions)[number]

const newest: SessionRevision = sessionRevisions[0]

export function isSessionRevision(text: string): text is SessionRevision {
  return (sessionRevisions as readonly string[]).includes(text)
}

/** "Lifecycle", version negotiation: echo what is supported, else offer the newest. Never an error. */
function negotiate(requested: string): SessionRevision {
  return isSessionRevision(requested) ? requested : newest
}

/** Only 2025-03-26 knows batches; 2025-06-18 removed them. */
export function allowsBatches(revision: SessionRevision): boolean {
  return revision === '2025-03-26'
}

/** 2024-11-05 to 2025-11-25 (`resources`, "Error Handling") and the specification's table. */
export const sessionCodes: RpcCodeTable = {
  resource_not_found: -32002,
  resource_not_enabled: -32002,
  resource_uri_invalid: rpcCodes.invalidParams,
  tool_call_invalid: rpcCodes.invalidParams,
  // In a batch: alone, the whole request is refused with 403.
  scope_insufficient: rpcCodes.refused,
  session_ended: rpcCodes.sessionNotFound,
}
