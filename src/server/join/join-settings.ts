import type { Secret } from '../../lib/util/secret.ts'

/** Which gateway an instance joins. */
export interface JoinSettings {
  /** Its address, http or https, without a slash at the end. Plain http is for this machine alone. */
  readonly gateway: string
  /** The token, read anew for each attempt. Rejects with a `ServiceError`. */
  readonly token: () => Promise<Secret>
}
