import type { Secret } from '../../lib/util/secret.ts'

/** Which callers of the gateway see an instance: its owner, the team of the owner too, or all. */
export const visibilities = ['owner', 'team', 'all'] as const
export type Visibility = (typeof visibilities)[number]

/** Which gateway an instance joins. */
export interface JoinSettings {
  /** Its address, http or https, without a slash at the end; http only on this machine. */
  readonly gateway: string
  /** Reads the token, before each attempt. Rejects with a `ServiceError`. */
  readonly token: () => Promise<Secret>
  readonly visibleTo: Visibility
}
