import type { Secret } from '../../lib/util/secret.ts'
import type { Visibility } from '../../lib/instances/visibility.ts'

/** Which gateways an instance joins. */
export interface JoinSettings {
  /** Their addresses, http or https, without a slash at the end; http only on this machine. */
  readonly gateways: readonly string[]
  /** Reads the token, before each attempt. Rejects with a `ServiceError`. */
  readonly token: () => Promise<Secret>
  readonly visibleTo: Visibility
}
