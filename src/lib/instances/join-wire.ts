import { z } from 'zod'

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

export const joinAccepted = z.object({
  /** The user who made the token. */
  owner: z.string(),
  team: z.string().nullable(),
  /** The name of the token. */
  name: z.string(),
})

/** The user and the token by which a gateway knows an instance. */
export type JoinAccepted = z.infer<typeof joinAccepted>

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
