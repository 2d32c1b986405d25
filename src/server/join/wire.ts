/**
 * The protocol of a link. An instance opens a WebSocket to a gateway, and answers the HTTP/2 requests
 * that the gateway sends inside it: `/mcp` and `/artefacts/…` as at its own address, and the two
 * paths below.
 */
export const joinPath = '/join'
export const joinProtocol = 'service-join.v1'

/**
 * The answer is a line with the record of the instance as JSON, with its visibility as
 * `visible_to`, and a further line whenever the record changes.
 */
export const recordPath = '/join/v1/record'

/** The gateway posts a `JoinAccepted` here when it has accepted the record. */
export const acceptedPath = '/join/v1/accepted'

/** The user and the token by which a gateway knows an instance. */
export interface JoinAccepted {
  /** The user who made the token. */
  readonly owner: string
  readonly team: string | null
  /** The name of the token. */
  readonly name: string
}

/** WebSocket close codes of both ends. */
export const joinCloseCodes = {
  /** The instance or the gateway stops. */
  stopped: 1001,
  /** The gateway cannot decide now whether the instance may join. */
  unavailable: 1013,
  /** The instance has opened another link to this gateway. */
  replaced: 4009,
  /** The record is invalid, or its instance cannot join here. */
  recordRefused: 4001,
  /** The token was revoked or has expired. */
  tokenRefused: 4003,
} as const
