import { ServiceError } from '../../lib/util/errors.ts'
import type { ServedResources } from '../resources/served-resources.ts'
import type { RequestMessage } from './json-rpc.ts'
import type { RequestNotes } from './request-notes.ts'

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
  { mayWrite }: Pick<RequestNotes, 'mayWrite'>,
  { registry, resourcesEnabled }: WriteRules,
): void {
  if (mayWrite || !resourcesEnabled || method !== 'resources/read') return
  if (!registry.changes(params.uri)) return
  throw new ServiceError('scope_insufficient', 'this caller may only read, without drain=true')
}
