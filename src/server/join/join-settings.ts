import type { Secret } from '../../lib/util/secret.ts'
import type { Visibility } from '../../lib/instances/visibility.ts'

/** Which gateway an instance joins. */
export interface JoinSettings {
  /** Its address, http or https, without a slash at the end; http only on this machine. */
  readonly gateway: string
  /** Reads the token, before each attempt. Rejects with a `ServiceError`. */
  readonly token: () => Promise<Secret>
  readonly visibleTo: Visibility
}
