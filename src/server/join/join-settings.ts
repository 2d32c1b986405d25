import type { Secret } from '../../lib/util/secret.ts'
import type { Visibility } from '../../lib/instances/visibility.ts'

/** Which gateway an instance joins. */
export interface JoinSettings {
  /** Its address, http or https, without a slash at the end. Plain http is for this machine alone. */
  readonly gateway: string
  /** The token, read anew for each attempt. Rejects with a `ServiceError`. */
  readonly token: () => Promise<Secret>
  /** Which callers of the gateway see the instance. */
  readonly visibleTo: Visibility
}
