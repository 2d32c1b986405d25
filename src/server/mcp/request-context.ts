import { ServiceError } from '../../lib/util/errors.ts'
import type { ServedResources } from '../resources/schemes.ts'
import type { RequestMessage } from './json-rpc.ts'

/** What is known of a request beyond its bytes; the endpoint notes what it did, for the access log. */
export interface RequestContext {
  readonly principal: string
  /** False: the caller may only read. */
  readonly mayWrite: boolean
  rpc: string | undefined
  /** The resource that the call is about, as the client wrote it. */
  uri: unknown
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
  { method, params }: Pick<RequestMessage, 'method' | 'params'>,
  { mayWrite }: Pick<RequestContext, 'mayWrite'>,
  { registry, resourcesEnabled }: WriteRules,
): void {
  if (mayWrite || !resourcesEnabled || method !== 'resources/read') return
  if (!registry.changes(params.uri)) return
  throw new ServiceError('scope_insufficient', 'this caller may only read, without drain=true')
}

/** What the server says of itself in both transports. */
export interface ServerIdentity {
  readonly name: string
  readonly title: string
  readonly version: string
  /** How a model finds its way about the resources; may be another text at each look. */
  readonly instructions: string
}
