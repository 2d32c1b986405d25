/**
 * The protocol of a link. An instance opens a WebSocket to a gateway, with its token and, in
 * `instanceHeader`, its id. Text messages of the instance are its record as JSON, with its
 * visibility as `visible_to`: the first one at once, another one whenever the record changes. The
 * one text message of the gateway, a `JoinAccepted`, follows the first record. Binary messages
 * carry HTTP/2, in which the gateway asks for `/mcp` and `/artefacts/…` as at the address of the
 * instance.
 */
export const joinPath = '/join'
export const joinProtocol = 'service-join.v1'

/** Bytes of one WebSocket message. */
export const maxJoinMessageBytes = 1024 * 1024

/** The user and the token by which a gateway knows an instance. */
export interface JoinAccepted {
  /** The user who made the token. */
  readonly owner: string
  readonly team: string | null
  /** The name of the token. */
  readonly name: string
}

/** Which callers of the gateway see an instance: its owner, the team of the owner too, or all. */
export const visibilities = ['owner', 'team', 'all'] as const
export type Visibility = (typeof visibilities)[number]

/** WebSocket close codes of both ends. */
export const joinCloseCodes = {
  /** The instance or the gateway stops. */
  stopped: 1001,
  /** The record is invalid. */
  recordRefused: 4001,
  /** The token was revoked or has expired. */
  tokenRefused: 4003,
  /** The instance has opened another link to this gateway. */
  replaced: 4009,
} as const
