import { ServiceError } from '../../lib/util/errors.ts'
import { isJsonObject } from '../../lib/util/json.ts'
import { cleanText } from '../../lib/util/text.ts'
import type { RequestContext } from '../http/request-context.ts'
import type { ServedResources } from '../resources/served-resources.ts'
import type { RequestMessage } from './json-rpc.ts'

/** Records what a request is about, for the access log. */
export function recordCall(
  context: RequestContext,
  { method, params }: Pick<RequestMessage, 'method' | 'params'>,
): void {
  const name = method === 'tools/call' ? params.name : undefined
  context.rpc = typeof name === 'string' ? `${method} ${cleanText(name, maxToolChars)}` : method
  context.uri = uriOf({ method, params }) ?? urisOf(params.arguments)
}

const maxToolChars = 64

/** The resource that a request names, as an argument of a tool, too. */
function uriOf({ method, params }: Pick<RequestMessage, 'method' | 'params'>): unknown {
  if (method !== 'tools/call') return params.uri
  return isJsonObject(params.arguments) ? params.arguments.uri : undefined
}

/** What a tool waits for. */
function urisOf(args: unknown): string | undefined {
  if (!isJsonObject(args) || !Array.isArray(args.uris)) return undefined
  return args.uris.filter(uri => typeof uri === 'string').join(' ')
}

export interface WriteRules {
  readonly registry: Pick<ServedResources, 'changes'>
  readonly resourcesEnabled: boolean
}

/**
 * Reading is what nearly every request does, and all that some callers may. Throws
 * `scope_insufficient` for a read that would also change something (events that are drained).
 */
export function assertAllowed(
  request: Pick<RequestMessage, 'method' | 'params'>,
  { mayWrite, mayAnswer }: Pick<RequestContext, 'mayWrite' | 'mayAnswer'>,
  { registry, resourcesEnabled }: WriteRules,
): void {
  if ((mayWrite && mayAnswer) || !resourcesEnabled) return
  if (request.method !== 'resources/read' && request.method !== 'tools/call') return
  if (request.method === 'tools/call' && request.params.name === 'answer_note') {
    if (mayAnswer) return
    throw new ServiceError('scope_insufficient', 'this caller may not answer notes')
  }
  if (mayWrite || !registry.changes(uriOf(request))) return
  throw new ServiceError('scope_insufficient', 'this caller may only read, without drain=true')
}
