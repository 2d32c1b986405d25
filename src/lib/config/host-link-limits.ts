/** The bounds of the host link, on which the application and the server talk; part of `Limits`. */
export interface HostLinkLimits {
  /** Events that a buffer opened over the link may retain. */
  maxEventBufferEvents: number
  /** Bytes of one message in a buffer opened over the link. */
  maxEventMessageBytes: number
  /** Links open at once, most of them still to say hello; further ones are refused. */
  maxLinks: number
  /** A link must say hello within this time. */
  linkHelloMs: number
  /** The application is told to send a heartbeat this often. */
  linkHeartbeatMs: number
  /** The server pings the application this often. */
  linkPingMs: number
  /** A link on which nothing arrived for so long is cut. */
  linkSilenceMs: number
  /** The main thread of the application counts as busy when it is away for longer. */
  linkBusyMs: number
  /** Producers of a lost link stay listed for so long. */
  linkGraceMs: number
  /** Bytes of answers and questions that the application has not taken before its link is closed. */
  maxLinkBacklogBytes: number
  /** URI schemes that the application may offer. */
  maxLinkSchemes: number
  /** Resources, and templates, that the application may list for one scheme. */
  maxLinkResources: number
  /** Questions to the application open at once; further reads fail at once. */
  maxLinkRequests: number
  /** The application must answer a list within this time. */
  linkListMs: number
  /** The application must bring a picture of itself within this time. */
  linkCaptureMs: number
  /** Objects of a scene beyond which the application is advised to truncate. */
  maxSceneObjects: number
  /** The greatest pause between two scenes that the application is asked for. */
  maxSceneIntervalMs: number
}

const KiB = 1024
const MiB = 1024 * KiB

/** Sizes in bytes, times in milliseconds; frozen. */
export const defaultHostLinkLimits: Readonly<HostLinkLimits> = Object.freeze({
  maxEventBufferEvents: 10_000,
  maxEventMessageBytes: 64 * KiB,
  maxLinks: 16,
  linkHelloMs: 5000,
  linkHeartbeatMs: 5000,
  linkPingMs: 10_000,
  linkSilenceMs: 30_000,
  linkBusyMs: 2000,
  linkGraceMs: 60_000,
  maxLinkBacklogBytes: 8 * MiB,
  maxLinkSchemes: 16,
  maxLinkResources: 2000,
  maxLinkRequests: 8,
  linkListMs: 2000,
  linkCaptureMs: 8000,
  maxSceneObjects: 2000,
  maxSceneIntervalMs: 1000,
})
